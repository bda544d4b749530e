import { expect, test } from 'vitest';
import { type StorageErrorCode, storageError } from '../contract/errors.ts';
import { toWire } from '../wire/errors-on-wire.ts';
import type { LiveOutcome, LivePeer } from '../wire/protocol.ts';
import { type LivePeers, polledSource } from './polled-source.ts';

const START = { target: 'a', read: { op: 'get', keys: ['k'] } } as const;
const LOST = storageError('CONNECTION_CLOSED', 'lost');
const RESET: LiveOutcome = { error: toWire(storageError('OBJECT_RESET', 'reset')), isEnded: true };

/** Makes a source whose worker gives these answers, one after the other. `'lost'` fails the connection. */
function create(
  answers: (LiveOutcome | 'lost' | 'refused')[],
  refusal: StorageErrorCode = 'CORRUPT',
) {
  const seen: string[] = [];
  const pauses: number[] = [];
  let end: Error | undefined;
  let endNow = () => {};
  /** Answers the pending request for the next result. */
  let answerLate: (answer: LiveOutcome | Promise<never>) => void = () => {};
  const peer: LivePeer = {
    async openLive() {
      seen.push('open');
      if (answers[0] !== 'refused') return { ok: seen.length };
      answers.shift();
      return { error: toWire(storageError(refusal, 'refused')) };
    },
    async nextLive() {
      const answer = answers.shift();
      if (answer === undefined) {
        return new Promise((resolve) => {
          answerLate = resolve;
        });
      }
      if (answer === 'lost' || answer === 'refused') throw LOST;
      return answer;
    },
    async closeLive() {
      seen.push('close');
    },
  };
  const peers: LivePeers = {
    peer: async () => peer,
    get end() {
      return end;
    },
    whenEnded(told) {
      endNow = told;
      return () => {
        endNow = () => {};
      };
    },
    after(delayMs, task) {
      pauses.push(delayMs);
      setImmediate(task);
      return () => {};
    },
  };
  const stop = polledSource(
    peers,
    START,
  )({
    result: (bytes) => seen.push(`result ${bytes[0]}`),
    failed: (error) => seen.push(`failed ${(error as { code?: string }).code}`),
    ended: (error) => seen.push(`ended ${(error as { code?: string }).code}`),
  });
  return {
    seen,
    pauses,
    stop,
    answer(late: LiveOutcome | 'lost') {
      answerLate(late === 'lost' ? Promise.reject(LOST) : late);
    },
    close() {
      end = LOST;
      endNow();
    },
  };
}

const ok = (value: number): LiveOutcome => ({ ok: new Uint8Array([value]) });
const settled = async (times = 1) => {
  for (let i = 0; i < 20 * times; i++) await new Promise((resolve) => setImmediate(resolve));
};

test('[LIVE6] a lost worker and a reset are survived without an error', async () => {
  const { seen, stop } = create([ok(1), 'lost', ok(2), RESET, ok(3)]);
  await settled();
  expect(seen).toEqual(['open', 'result 1', 'open', 'result 2', 'open', 'result 3']);
  stop();
  expect(seen.at(-1)).toBe('close');
});

test('[LIVE6] a repeated failure is reported, and tried again less and less often', async () => {
  const answers = Array.from({ length: 12 }, () => 'refused' as const);
  const { seen, pauses } = create([...answers, ok(1)]);
  await settled();
  await settled();
  expect(seen.filter((each) => each === 'failed CORRUPT')).toHaveLength(11);
  expect(seen.at(-1)).toBe('result 1');
  expect(pauses).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
});

const ABORTED: LiveOutcome = {
  error: toWire(
    Object.defineProperty(storageError('OBJECT_RESET', 'abort'), 'retryable', { value: false }),
  ),
  isEnded: true,
};

test('[LIVE29] losses and resets that follow each other are no error, for half a minute', async () => {
  const losses = Array.from({ length: 13 }, (_, i) => (i % 3 === 2 ? RESET : 'lost'));
  const { seen, pauses } = create([ok(1), ...losses, ok(2), ...losses, ok(3)]);
  await settled(4);
  expect(seen.filter((each) => each !== 'open')).toEqual(['result 1', 'result 2', 'result 3']);
  const pausedMs = pauses.reduce((sum, pauseMs) => sum + pauseMs) / 2;
  expect(pausedMs).toBeGreaterThanOrEqual(30_000);
  expect(pausedMs).toBeLessThan(35_000);
});

test('[LIVE29] then each is reported, and the read is tried again', async () => {
  const losses = Array.from({ length: 15 }, () => 'lost' as const);
  const { seen } = create([ok(1), ...losses, ok(2)]);
  await settled(4);
  const failed = 'failed CONNECTION_CLOSED';
  expect(seen.filter((each) => each !== 'open')).toEqual(['result 1', failed, failed, 'result 2']);
});

test('[LIVE29] a reset by the object itself is reported when it comes twice', async () => {
  const { seen } = create([ok(1), ABORTED, ABORTED, ok(2)]);
  await settled();
  const shown = seen.filter((each) => each !== 'open');
  expect(shown).toEqual(['result 1', 'failed OBJECT_RESET', 'result 2']);
});

test('[LIVE29] resets by a full disk that follow each other are no error; an opening that it refuses is', async () => {
  const full: LiveOutcome = { error: toWire(storageError('DISK_FULL', 'full')), isEnded: true };
  const { seen } = create([ok(1), ...Array.from({ length: 13 }, () => full), ok(2)]);
  await settled(4);
  expect(seen.filter((each) => each !== 'open')).toEqual(['result 1', 'result 2']);
  const refused = create(['refused', 'refused', 'refused', ok(1)], 'DISK_FULL');
  await settled();
  const failed = 'failed DISK_FULL';
  expect(refused.seen.filter((each) => each !== 'open')).toEqual([failed, failed, 'result 1']);
});

test('[LIVE4] a read that fails stays open', async () => {
  const { seen } = create([{ error: toWire(storageError('SQL', 'no such table')) }, ok(1)]);
  await settled();
  expect(seen).toEqual(['open', 'failed SQL', 'result 1']);
});

test.each<[name: string, late: LiveOutcome | 'lost']>([
  ['result', ok(2)],
  ['reset', RESET],
  ['loss', 'lost'],
])(
  '[LIVE6] it ends when its handle is closed, at once and for good: a late %s changes nothing',
  async (_, late) => {
    const { seen, pauses, close, answer } = create([ok(1)]);
    await settled();
    close();
    const ended = ['open', 'result 1', 'close', 'ended CONNECTION_CLOSED'];
    expect(seen).toEqual(ended);
    answer(late);
    await settled();
    expect([seen, pauses]).toEqual([ended, []]);
  },
);

test('[LIVE27] it ends with its branch, and is not opened again', async () => {
  const error = toWire(storageError('BRANCH_ENDED', 'deleted'));
  const { seen, pauses } = create([ok(1), { error, isEnded: true }]);
  await settled();
  expect([seen, pauses]).toEqual([['open', 'result 1', 'ended BRANCH_ENDED'], []]);
});

test('[LIVE11] a read that is stopped while it opens is closed', async () => {
  const { seen, stop } = create([]);
  while (seen.length === 0) await null;
  stop(); // its opening is not answered yet
  await settled();
  expect(seen).toEqual(['open', 'close']);
});
