// `env` of the worker beside this file, provided before its modules are evaluated.

import { kv } from '../../../packages/workers/bindings/index.ts';
import { provideEnv } from '../../../worker/start/entries/objects.ts';

export const options = {
  env: { NAME: 'given' },
  bindings: { BOX: 'Box', KV: kv() },
  services: { API: { entrypoint: 'Api' } },
};

provideEnv(options.env, options);
