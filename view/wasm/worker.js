// Runs the program in a thread of its own, in a browser's Worker or one of Node's. Gets {compiled, job}, answers with what
// the run tells and, last, {result}.
import createSinew from './sinew.mjs';
import { runProgram } from './program.js';

const inNode = typeof process === 'object' && Boolean(process.versions?.node);
const port = inNode ? (await import('node:worker_threads')).parentPort : globalThis;

async function answer({ compiled, job }) {
  const tell = (message) => port.postMessage(message);
  const result = await runProgram(createSinew, compiled, job, tell);
  port.postMessage({ result }, Object.values(result.files).map((bytes) => bytes.buffer));
}
if (inNode) port.on('message', answer);
else port.onmessage = (event) => answer(event.data);
