// sinew in Node and in browsers. Every call runs in a worker of its own; nothing leaves the machine.
import { sinewWith } from './solve.js';

const inNode = typeof process === 'object' && Boolean(process.versions?.node);
const code = new URL('./sinew.wasm', import.meta.url);
const script = new URL('./worker.js', import.meta.url);

async function start() {
  if (!inNode) {
    const worker = new Worker(script, { type: 'module' });
    return {
      postMessage: (message) => worker.postMessage(message),
      terminate: () => worker.terminate(),
      listen: (hear, fail) => { worker.onmessage = (event) => hear(event.data); worker.onerror = fail; },
    };
  }
  const { Worker } = await import('node:worker_threads');
  const worker = new Worker(script);
  return {
    postMessage: (message) => worker.postMessage(message),
    terminate: () => worker.terminate(),
    listen: (hear, fail) => { worker.on('message', hear); worker.on('error', fail); },
  };
}

let compiled;
function compile() {
  compiled ??= inNode
    ? import('node:fs/promises').then(({ readFile }) => readFile(code)).then((bytes) => WebAssembly.compile(bytes))
    : WebAssembly.compileStreaming(fetch(code));
  return compiled;
}

export const { run, info, estimate, solve, evaluate, convert } = sinewWith(start, compile);
export { SinewError, MOST_BYTES } from './solve.js';
