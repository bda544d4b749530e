// A tab that uses everything, again and again, over data that does not grow: memory that it still needs
// after an hour is a leak.

import { connect, openStorage } from '../../../src/index.ts';
import type { Classes } from './soak-worker.ts';

declare global {
  interface Window {
    soak: typeof soak;
  }
}

const KEYS = 500;
const ROWS = 500;

let rounds = 0;
let isRunning = false;
let ended: Promise<void> = Promise.resolve();

async function run(): Promise<void> {
  const address = new URL('./objects-worker.js', import.meta.url);
  const { env } = await connect<Classes>(() => new Worker(address, { type: 'module' }));
  while (isRunning) {
    const storage = await openStorage('soaked');
    const n = rounds % KEYS;
    await storage.put(`key ${n}`, { n, text: 'x'.repeat(1000) });
    await storage.get(`key ${(n * 7) % KEYS}`);
    await storage.list({ limit: 50 });
    await storage.sql.exec('CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, text)').ready;
    await storage.transaction(async (txn) => {
      await storage.sql.exec('INSERT OR REPLACE INTO t VALUES(?, ?)', rounds % ROWS, 'text').ready;
      await txn.put('rounds', rounds);
    });
    // A cursor that nobody reads to its end.
    await storage.sql.exec('SELECT * FROM t').next();
    await storage.sql.exec('SELECT * FROM nothing').ready.catch(() => {});
    await env.Cup.getByName(`cup ${n % 20}`).fill(new Uint8Array(1000), (level) => level + 1);
    await storage.close();
    rounds += 1;
  }
}

const soak = {
  start(): void {
    isRunning = true;
    ended = run();
  },

  /** Rejects with the error of a lane. */
  async stop(): Promise<void> {
    isRunning = false;
    await ended;
  },

  rounds: (): number => rounds,
};

window.soak = soak;
