// The same where the module has threads of its own: they load its script by the address that the page gives it.
import { runProgram } from '../../wasm/program.js';

onmessage = async ({ data: { compiled, job } }) => {
  const { default: createSinew } = await import(job.scripts.module);
  const result = await runProgram(createSinew, compiled, job, (message) => postMessage(message));
  postMessage({ result }, Object.values(result.files).map((bytes) => bytes.buffer));
};
