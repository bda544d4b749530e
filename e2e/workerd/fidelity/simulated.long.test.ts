// Published classes in the simulator: what they have acknowledged stays, through every fault.

import { beforeAll, expect, test } from 'vitest';
import {
  exactlyOnce,
  noAlarmLost,
  type SimulateOptions,
  simulate,
} from '../../../packages/testing/simulate/simulate.ts';
import type { WebSocket } from '../../../src/shared/calls/sockets/web-socket.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';

/** The interface of each class in libraries/classes/kept.ts. */
declare class Kept extends DurableObject {
  add(key: string): Promise<void>;
  keys(): Promise<string[]>;
}

type Options = SimulateOptions<{ Kept: typeof Kept }>;

/** The number of runs; 500 with `npm run simulate`. */
const RUNS = process.env.SIMULATED_RUNS === undefined ? 40 : 500;

let classes: Record<'KeptNotes' | 'KeptParty' | 'KeptJobs', typeof Kept>;

beforeAll(async () => {
  // PartyServer reads the globals of workerd while it loads.
  const host = await createObjects({});
  classes = await import('../libraries/classes/kept.ts' as string);
  await host.close();
});

const isStored = exactlyOnce<{ Kept: typeof Kept }>(async ({ each }) =>
  (await Promise.all(each('Kept').map((kept) => kept.keys()))).flat(),
);

const calls: Options['calls'] = ({ env, pick, unique }) => [
  () => env.Kept.getByName(pick(['a', 'b'])).add(unique()),
];

test('[SIMU22] a store of TinyBase has each row that it has saved, once', async () => {
  const { coverage } = await simulate(
    { Kept: classes.KeptNotes },
    { runs: RUNS, calls, invariant: isStored },
  );
  expect(coverage.runs).toBe(RUNS);
});

test('[SIMU22] the jobs of an Actor run after every fault, in time', async () => {
  const { coverage } = await simulate(
    { Kept: classes.KeptJobs },
    { runs: RUNS, calls, invariant: [isStored, noAlarmLost()] },
  );
  expect(coverage.runs).toBe(RUNS);
});

test('[SIMU22] PartyServer has each message whose sender heard that it is stored', async () => {
  const acknowledged = new Set<string>();
  const { coverage } = await simulate(
    { Kept: classes.KeptParty },
    {
      runs: RUNS,
      setup: () => acknowledged.clear(),
      calls: ({ env, pick, unique }) => [
        async () => {
          const request = new Request('https://party/?user=ann', {
            headers: { upgrade: 'websocket' },
          });
          const stub = env.Kept.getByName(pick(['a', 'b'])) as unknown as {
            fetch(request: Request): Promise<{ webSocket: WebSocket }>;
          };
          const { webSocket: socket } = await stub.fetch(request);
          socket.accept();
          const key = unique();
          await new Promise<void>((resolve) => {
            socket.addEventListener('message', (event) => {
              const text = String((event as MessageEvent).data);
              if (text.startsWith('welcome')) {
                if (socket.readyState === 1) socket.send(key); // it may be lost meanwhile
              } else {
                expect(text).toBe(`stored ${key}`);
                acknowledged.add(key);
                resolve();
              }
            });
            socket.addEventListener('close', () => resolve());
          });
        },
      ],
      invariant: async ({ each }) => {
        const stored = (await Promise.all(each('Kept').map((party) => party.keys()))).flat();
        for (const key of acknowledged) expect(stored).toContain(key);
      },
    },
  );
  expect(coverage.faults.get('socketLost')).toBeGreaterThan(0);
});
