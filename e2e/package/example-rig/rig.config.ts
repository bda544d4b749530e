// The suite of docs/examples/playwright as this repository runs it, with more tests: against the build, and tests of
// files that are served differently against the development server too, in browsers of the system.

import { defineConfig } from '@playwright/test';
import example from './playwright.config.ts';

const port = Number(process.env.PORT ?? 4173);
const devPort = port + 1;

const chromium = {
  browserName: 'chromium' as const,
  launchOptions: { ...launch('CHROMIUM_PATH'), chromiumSandbox: false },
};
const firefox = {
  browserName: 'firefox' as const,
  channel: 'moz-firefox',
  launchOptions: launch('FIREFOX_PATH'),
};
const onDevServer = { baseURL: `http://localhost:${devPort}` };
/** Tests that show a failure's messages. */
const RED = '**/red*.e2e.ts';
const isRed = process.env.RED !== undefined;
const dev = { testMatch: '**/*.spec.ts' };

export default defineConfig({
  ...example,
  testMatch: isRed ? RED : ['**/*.spec.ts', '**/*.e2e.ts'],
  testIgnore: isRed ? [] : RED,
  workers: 2,
  // Limits for tests that hang: two servers and two browsers may share a small machine.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  use: { ...example.use, baseURL: `http://localhost:${port}` },
  webServer: [
    {
      command: `npx vite build && npx vite preview --port ${port} --strictPort`,
      url: `http://localhost:${port}`,
    },
    { command: `npx vite --port ${devPort} --strictPort`, url: `http://localhost:${devPort}` },
  ],
  projects: [
    { name: 'chromium', use: chromium },
    { name: 'firefox', use: firefox },
    { name: 'chromium-dev', use: { ...chromium, ...onDevServer }, ...dev },
    { name: 'firefox-dev', use: { ...firefox, ...onDevServer }, ...dev },
  ],
});

/** A browser of the system, if one is named. */
function launch(variable: string): { executablePath?: string } {
  const path = process.env[variable];
  return path === undefined ? {} : { executablePath: path };
}
