// The worker of `connectSource`: classes whose code its page sends.

import { provideHtmlRewriter } from '@ctx-storage/html-rewriter';
import { browserLoader, runSource, type SourceScope } from '@ctx-storage/worker/realm';
import { serve } from '@ctx-storage/worker/serve';

provideHtmlRewriter(); // the code comes later, and cannot wait for a download
runSource(
  globalThis as unknown as SourceScope,
  browserLoader,
  serve as Parameters<typeof runSource>[2],
);
