// The worker of `connectSource`: classes whose code its page sends.

import { provideHtmlRewriter } from '../../../packages/html-rewriter/html-rewriter.ts';
import { browserLoader } from '../../realm/source/load-source.ts';
import { runSource, type SourceScope } from '../../realm/source/run-source.ts';
import { serve } from './serve.ts';

provideHtmlRewriter(); // the code comes later, and cannot wait for a download
runSource(
  globalThis as unknown as SourceScope,
  browserLoader,
  serve as Parameters<typeof runSource>[2],
);
