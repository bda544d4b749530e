import { afterEach, expect, test, vi } from 'vitest';
import { spawnWorker } from './spawn-worker.ts';

afterEach(() => vi.unstubAllGlobals());

test("[PKG9] a module's address that is no address of the web, as bundlers write it, is no other origin", () => {
  // As Parcel and webpack leave it; that of this module is a file's, too.
  expect(import.meta.url).toMatch(/^file:/);
  const started: string[] = [];
  vi.stubGlobal('location', new URL('http://localhost:5173/'));
  vi.stubGlobal(
    'Worker',
    class {
      constructor(url: string | URL) {
        started.push(String(url));
      }
    },
  );
  spawnWorker();
  expect(started).toEqual([expect.stringMatching(/worker\/start\/entries\/storage-worker\.ts$/)]);
});
