// The tests run against the development server, or with MODE=preview against the build.

import { defineConfig } from '@playwright/test';

const port = Number(process.env.PORT ?? 4173);
const isPreview = process.env.MODE === 'preview';
const command = isPreview ? 'vite build && npx vite preview' : 'vite';

export default defineConfig({
  testDir: 'tests',
  testMatch: '**/*.e2e.ts',
  fullyParallel: true,
  workers: 2,
  use: { baseURL: `http://localhost:${port}` },
  webServer: {
    command: `npx ${command} --port ${port} --strictPort`,
    url: `http://localhost:${port}`,
  },
  projects: [
    {
      name: 'chromium',
      use: {
        browserName: 'chromium',
        launchOptions: { ...launch('CHROMIUM_PATH'), chromiumSandbox: false },
      },
    },
    {
      name: 'firefox',
      use: {
        browserName: 'firefox',
        channel: 'moz-firefox',
        launchOptions: launch('FIREFOX_PATH'),
      },
    },
  ],
});

/** A browser of the system, if one is named. */
function launch(variable: string): { executablePath?: string } {
  const path = process.env[variable];
  return path === undefined ? {} : { executablePath: path };
}
