// Runs the checker in a worker of its own, because TypeScript has megabytes and code can keep it busy without end.

import { expose } from 'comlink';
import { Checker } from './checker.ts';

const checker = new Checker();

const api = {
  /** Resolves once the worker is loaded. */
  ready: () => {},
  check: (...asked: Parameters<Checker['check']>) => checker.check(...asked),
  suggest: (...asked: Parameters<Checker['suggest']>) => checker.suggest(...asked),
  explain: (...asked: Parameters<Checker['explain']>) => checker.explain(...asked),
  describe: (...asked: Parameters<Checker['describe']>) => checker.describe(...asked),
};
export type CheckerApi = typeof api;

expose(api);
