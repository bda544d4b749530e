// The worker of `connectSource`: classes whose code its page sends.

import { browserLoader } from '../../realm/source/load-source.ts';
import { runSource, type SourceScope } from '../../realm/source/run-source.ts';
import { serve } from './serve.ts';

runSource(
  globalThis as unknown as SourceScope,
  browserLoader,
  serve as Parameters<typeof runSource>[2],
);
