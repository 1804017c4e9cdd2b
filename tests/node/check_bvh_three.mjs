// node check_bvh_three.mjs FOLDER: three's BVHLoader finds the joints of our BVH files where the rig has its heads, in
// every frame within 1e-4 of the size of the skeleton.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { needPackages, runCases } from './cases.mjs';
import { writtenName } from './fbx.mjs';

needPackages();
const THREE = await import('three');
const { BVHLoader } = await import('three/examples/jsm/loaders/BVHLoader.js');
const folder = process.argv[2];
const cases = readdirSync(folder).filter((file) => file.endsWith('.bvh')).map((file) => ({ name: file.slice(0, -4) }));
await runCases(cases, async ({ name }) => {
  const facts = JSON.parse(readFileSync(join(folder, `${name}.bones`), 'utf8'));
  const { skeleton, clip } = new BVHLoader().parse(readFileSync(join(folder, `${name}.bvh`), 'utf8'));
  const root = skeleton.bones[0];
  const mixer = new THREE.AnimationMixer(root);
  mixer.clipAction(clip).setLoop(THREE.LoopOnce).play().clampWhenFinished = true;
  const heads = facts.bones.flatMap((bone) => bone.heads);
  const size = Math.hypot(...[0, 1, 2].map((i) => Math.max(...heads.map((h) => h[i])) - Math.min(...heads.map((h) => h[i]))));
  const place = new THREE.Vector3();
  let largest = 0;
  facts.times.forEach((time, f) => {
    mixer.setTime(time);
    root.updateMatrixWorld(true);
    for (const bone of facts.bones) {
      const joint = skeleton.getBoneByName(writtenName(bone.name));
      place.setFromMatrixPosition(joint.matrixWorld);
      const distance = place.distanceTo(new THREE.Vector3(...bone.heads[f])) / size;
      if (!(distance <= largest)) largest = distance;
    }
  });
  return {
    problem: largest <= 1e-4 ? '' : `differs by ${largest} of the skeleton's size`,
    note: `${facts.times.length} frames, largest difference ${largest.toExponential(1)}`,
  };
});
