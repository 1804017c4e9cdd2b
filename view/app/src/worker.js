// The thread that a run of the program has in the page.
import createSinew from 'sinew-module';
import { runProgram } from '../../wasm/program.js';

onmessage = async ({ data: { compiled, job } }) => {
  const result = await runProgram(createSinew, compiled, job, (message) => postMessage(message));
  postMessage({ result }, Object.values(result.files).map((bytes) => bytes.buffer));
};
