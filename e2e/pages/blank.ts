// A page with nothing but the package: what tests do with it, they do from outside.

import { openStorage } from '../../src/index.ts';
import { startWriting, verifyWrites } from './writer.ts';

const api = { openStorage, startWriting, verifyWrites };

declare global {
  interface Window {
    api: typeof api;
  }
}

window.api = api;
