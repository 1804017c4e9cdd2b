// One run of the sinew program in this thread: files in, files and text out. Every run is an instance of its own, so that
// nothing of one is left in the next, its memory least of all.

/** Where the input files lie while the program runs, so that its sentences name them as they were given. */
const INPUTS = '/in';
/** Where results go. */
export const RESULTS = '/out';

/**
 * @param {(module: object) => Promise<object>} createSinew  what emscripten made of the program
 * @param {WebAssembly.Module} compiled  its code
 * @param {{args: string[], files?: Record<string, Uint8Array>, wanted?: string[], stop?: boolean,
 *          watched?: string, helpers?: number, scripts?: {module: string, thread: string}}} job  `wanted`: files to hand
 *          back; `stop`: end the work as soon as it has begun; `watched`: a file whose every new state is told; `helpers`:
 *          threads beside this one, of a module that was built with threads; `scripts`: where those find their code
 * @param {(message: object) => void} tell  gets {progress, step}, {iteration, error} and {watched} while the program runs
 */
export async function runProgram(createSinew, compiled, job, tell = () => {}) {
  const out = [];
  const err = [];
  let begun = false;
  const listen = (line) => {
    const [kind, number, ...rest] = line.split(' ');
    if (kind === 'progress') {
      begun = true;
      tell({ progress: Number(number), step: rest.join(' ') });
    } else if (kind === 'iteration') {
      tell({ iteration: Number(number), error: Number(rest[0]) });
    } else {
      err.push(line);
    }
  };
  const program = await createSinew({
    thisProgram: 'sinew',
    noInitialRun: true,
    print: (line) => out.push(line),
    printErr: listen,
    helpers: job.helpers ?? 0,
    workers: Math.max(1, job.helpers ?? 0),  // a module with threads would wait for ever for none
    ...(job.scripts ? { mainScriptUrlOrBlob: job.scripts.module, locateFile: () => job.scripts.thread } : {}),
    stopAsked: () => Boolean(job.stop) && begun,
    quit: (status, exit) => { throw exit; },
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(compiled, imports).then((instance) => done(instance, compiled));
      return {};
    },
  });
  const { FS } = program;
  const { rename } = FS;  // by which a complete file takes its place
  FS.rename = (from, to) => {
    rename(from, to);
    if (to === job.watched) tell({ watched: FS.readFile(to) });
  };
  FS.mkdir(INPUTS);
  FS.mkdir(RESULTS);
  FS.chdir(INPUTS);
  for (const [name, bytes] of Object.entries(job.files ?? {})) {
    for (let at = name.indexOf('/', 1); at > 0; at = name.indexOf('/', at + 1))
      if (!FS.analyzePath(name.slice(0, at)).exists) FS.mkdir(name.slice(0, at));
    FS.writeFile(name, bytes, { canOwn: true });
  }
  let status;
  try {
    status = program.callMain(job.args);
  } catch (problem) {
    if (typeof problem?.status === 'number') status = problem.status;
    else {
      status = 4;
      err.push(problem instanceof RangeError || /memory/i.test(String(problem)) ? 'sinew: not enough memory' : `sinew: ended: ${problem}`);
    }
  }
  const files = {};
  for (const name of job.wanted ?? [])
    if (FS.analyzePath(name).exists) files[name] = FS.readFile(name);
  return { status: status ?? 0, out: out.join('\n'), err: err.join('\n'), files };
}
