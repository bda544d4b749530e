// The plugin finds the class by wrangler.jsonc, and starts it in a worker of the page.

import { ctxStorage } from 'ctx-storage/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [ctxStorage()],
  build: { target: 'esnext' },
});
