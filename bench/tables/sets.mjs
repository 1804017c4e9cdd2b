// Names that the papers use for sequences, and the folders of SINEW_DATA/sequences that hold them.
const EVERYWHERE = {
  'horse-gallop': 'horse-gallop', 'horse-poses': 'horse-poses', 'cat-poses': 'cat-poses', 'lion-poses': 'lion-poses',
  'elephant-poses': 'elephant-poses', pcow: 'pcow', elasticCow: 'pcow', pdance: 'pdance', dance: 'pdance', samba: 'samba',
  chickenCrossing: 'chickenCrossing', chicken: 'chickenCrossing', horse: 'horse-gallop', cylinder: 'cylinder', cube: 'cube',
  cheburashka: 'cheburashka',
  // Sequences that somebody may own and that cannot be given away: measured where SINEW_DATA has them.
  camel: 'camel-gallop', 'camel-gallop': 'camel-gallop', 'camel-collapse': 'camel-collapse', 'camel-poses': 'camel-poses',
  elephant: 'elephant-gallop', 'elephant-gallop': 'elephant-gallop', 'horse-collapse': 'horse-collapse', clothHorse: 'horse-collapse',
  'flamingo-poses': 'flamingo-poses', pjump: 'pjump', pkanga: 'pkanga', 'face-poses': 'face-poses', hand: 'hand', hands: 'hands',
  scape: 'scape', crane: 'crane', flag: 'flag', snake: 'snake', ball: 'ball', bridge: 'bridge', wolf: 'wolf', cow: 'cow',
};
const LE_2014 = { ...EVERYWHERE, cow: 'pcow' };  // "cow" of Le 2014 is pcow; that of Liu 2020 is another mesh

/** The folder of a published row's sequence. */
export const setOf = (row) => (row.paper === 'LD14' ? LE_2014 : EVERYWHERE)[row.dataset];

// The sequences of docs/results.md: published numbers are counted over these.
const HERE = new Set(['horse-gallop', 'horse-poses', 'cat-poses', 'lion-poses', 'elephant-poses', 'pcow', 'pdance', 'samba',
  'chickenCrossing', 'cylinder', 'cube', 'cheburashka']);
export const isHere = (set) => HERE.has(set);

// Bones of the exact models, which Liu 2020 states in Table 5 only.
export const EXACT_BONES = { cylinder: 4, cube: 4, cheburashka: 11, wolf: 21, cow: 15 };

// Exact models whose weights and transforms are known.
export const KNOWN_MODELS = new Set(['cylinder', 'cheburashka']);

// Liu 2020 normalises by half the bounding-box diagonal; in our unit its figures are larger by about this factor.
export const HIS20_FACTOR = {
  'cat-poses': 1.12, 'lion-poses': 1.14, 'horse-poses': 1.17, 'horse-gallop': 1.17, 'elephant-poses': 1.24, pcow: 1.16,
  pdance: 1.15, chickenCrossing: 1.27, samba: 1.11,
};

// What James & Twigg had, as far as it can be told: the rest pose of our horse is none of its frames, and with the first
// frame instead their figures are met; their dance had 181 frames.
export const JT05_INPUTS = { 'horse-gallop': ['--rest', '0'], pdance: ['--frames', '0:181'] };
