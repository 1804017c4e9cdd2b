/** One file as bytes (its kind is told by how it begins), or several by name: {"rest.obj": …, "frames.pc2": …}. */
export type Input = Uint8Array | ArrayBuffer | Record<string, Uint8Array | ArrayBuffer>;

/** Options of `sinew solve`, in camel case: maxError is --max-error, true is a flag. `sinew solve --help` lists them all. */
export interface SolveOptions {
  method?: 'ssdr' | 'kavan' | 'skeleton' | 'flats' | 'sma' | 'clusters';
  bones?: number;
  /** As few bones as reach this E_RMS, instead of `bones`. */
  maxError?: number;
  influences?: number | 'all';
  transforms?: 'rigid' | 'affine';
  skeleton?: boolean;
  quality?: 'fast' | 'balanced' | 'best';
  seed?: number;
  corrections?: number;
  frames?: string;
  /** File to get: a rig format that the library writes. */
  format?: 'glb' | 'gltf' | 'fbx' | 'usda' | 'usdz';
  [option: string]: string | number | boolean | string[] | undefined;
}

export interface Errors {
  e_rms: number;
  rmse_percent: number;
  normal_degrees: number;
  max_distance: number;
  max_percent: number;
  per_frame_percent: number[];
  [figure: string]: unknown;
}

/** What `sinew solve --report` writes. */
export interface Report {
  sinew: string;
  seconds: number;
  input: Facts;
  rig: Facts;
  errors: Errors;
  solve: { method: string; bones: number; remark: string; termination: string; iterations: { e_rms: number; seconds: number }[] };
  [part: string]: unknown;
}

/** What `sinew info --json` says. */
export interface Facts {
  kind: 'sequence' | 'rig';
  vertices: number;
  faces: number;
  frames: number;
  [fact: string]: unknown;
}

export interface Rig {
  bytes: Uint8Array;
  format: string;
  report: Report;
  /** Whether the solve was cancelled: this is the best rig so far. */
  partial: boolean;
  /** Sentences of the program that are no errors. */
  remarks: string[];
}

export interface Hooks {
  /** Cancels: a solve that has kept a state ends with the best rig so far, everything else is rejected. */
  signal?: AbortSignal;
}
export interface SolveHooks extends Hooks {
  /** How much of the work is done (0..1), and what is being done. */
  onProgress?: (fraction: number, step: string) => void;
  /** The error after an iteration, counted from 1. */
  onError?: (iteration: number, eRms: number) => void;
  /** A state was kept, from which a cancelled solve makes its rig. `best` makes it while the solve goes on, in a thread
   *  of its own. */
  onKept?: (best: () => Promise<Rig>) => void;
}

/** What a rig or a sequence holds. */
export function info(input: Input, options?: Record<string, unknown>, hooks?: Hooks): Promise<Facts>;
/** What memory and time a solve would take. */
export function estimate(input: Input, options?: SolveOptions, hooks?: Hooks):
  Promise<{ method: string; input: Facts; estimate: { memory_bytes: number; seconds: number } }>;
/** Bones, weights and motion of an animated mesh. Rejected with SinewError, whose message is the program's sentence. */
export function solve(input: Input, options?: SolveOptions, hooks?: SolveHooks): Promise<Rig>;
/** Errors of a rig (a GLB) against a sequence. */
export function evaluate(rig: Uint8Array, input: Input, options?: Record<string, unknown>, hooks?: Hooks):
  Promise<{ errors: Errors; [part: string]: unknown }>;
/** The input in another format, by its extension. */
export function convert(input: Input, format: string, options?: Record<string, unknown>, hooks?: Hooks): Promise<Uint8Array>;
/** Any command of the program: its arguments and files, and the files to hand back. */
export function run(job: { args: string[]; files?: Record<string, Uint8Array>; wanted?: string[] },
  hooks?: Hooks & { tell?: (message: object) => void }):
  Promise<{ status: number; out: string; err: string; files: Record<string, Uint8Array> }>;

export class SinewError extends Error {
  /** Exit status of the program: 2 wrong usage, 3 input that cannot be used, 4 no usable model or not enough memory. */
  status: number;
}
/** Bytes that files may have together. */
export const MOST_BYTES: number;
