// The worker of `connectSource`: classes whose code its page sends.

import { browserLoader } from '../../worker/realm/source/load-source.ts';
import { runSource, type SourceScope } from '../../worker/realm/source/run-source.ts';
import { serve } from '../../worker/start/entries/serve.ts';
import { provideHtmlRewriter } from '../html-rewriter/html-rewriter.ts';

provideHtmlRewriter(); // the code comes later, and cannot wait for a download
runSource(
  globalThis as unknown as SourceScope,
  browserLoader,
  serve as Parameters<typeof runSource>[2],
);
