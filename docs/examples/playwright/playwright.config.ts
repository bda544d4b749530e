// The tests run against the build.

import { defineConfig } from '@playwright/test';

const baseURL = 'http://localhost:4173';

export default defineConfig({
  testDir: 'tests',
  fullyParallel: true,
  use: { baseURL },
  webServer: { command: 'npm run build && npm run preview -- --strictPort', url: baseURL },
});
