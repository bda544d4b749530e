// React's own plugin is needed for hot reloading only.

import { defineConfig } from 'vite';
import { offline } from './offline.ts';

export default defineConfig({
  base: './',
  plugins: [offline()],
  build: { target: 'es2023' },
});
