// Textures of KHR_texture_basisu. The transcoder is large, so a page carries it only when its model needs it.
import { CompressedTexture, LoadingManager, RGBAFormat } from 'three';
import { KTX2Loader } from 'three/addons/loaders/KTX2Loader.js';
import { decodeBase64 } from './errors.js';

/** Stands in where the transcoder is not there: the model is shown, its textures are grey. */
const grey = { load: (_, onLoad) => onLoad(new CompressedTexture([{ data: new Uint8Array([160, 160, 160, 255]), width: 1, height: 1 }], 1, 1, RGBAFormat)) };

let loader = null;

export function ktx2Loader(renderer) {
  if (loader) return loader;
  const program = document.getElementById('sinew-basis');
  if (!program) return grey;
  const blob = (part, type) => URL.createObjectURL(new Blob([part], { type }));
  const files = {
    'basis/basis_transcoder.js': blob(decodeBase64(program.textContent), 'text/javascript'),
    'basis/basis_transcoder.wasm': blob(decodeBase64(document.getElementById('sinew-basis-wasm').textContent), 'application/wasm'),
  };
  const manager = new LoadingManager();
  manager.setURLModifier((url) => files[url] ?? url);
  loader = new KTX2Loader(manager).setTranscoderPath('basis/').detectSupport(renderer);
  return loader;
}
