// The strategies of the hostile followers. Each is a step, which a follower repeats while its connection is open; the
// numbers in it come from the follower's seed. A connection begins with a right hello unless the strategy says otherwise.

import { serialize } from '../../../../src/shared/values/encode.ts';
import { forgedCopy, randomMessage, strangeValue } from './forged-messages.ts';
import type { Strategy } from './hostile-follower.ts';
import { OPCODE } from './raw-socket.ts';

const METHODS = ['record', 'put', 'echo', 'give', 'fail', 'wait'];
const UNLISTED = [
  ...['fill', 'entriesOf', 'constructor', '__proto__', 'toString', 'fetch', 'alarm', 'then', ''],
  ...['webSocketMessage', 'webSocketClose', 'ctx', 'hasOwnProperty', 'x'.repeat(256)],
];
const KIB = 1024;
const MESSAGE_BYTES_MAX = 1024 * KIB;
const PING = '_follow_ping';

/** Makes the strategies. `friendName`: the friend's name as a client, which some use. */
export function strategiesAgainst(friendName: string): readonly Strategy[] {
  return [
    { name: 'says nothing', greets: false, step() {} },
    { name: 'says hello and nothing more', step() {} },
    {
      name: 'half a hello',
      greets: false,
      step(follower, random) {
        const hello = serialize({ kind: 'hello', protocol: { oldest: 2, newest: 2 }, client: 'x' });
        follower.sendBytes(hello.subarray(0, random.below(hello.length)));
      },
    },
    {
      name: 'a hello with missing fields',
      greets: false,
      step: (follower, random) =>
        follower.hello({ [random.pick(['client', 'position', 'copy', 'ack'])]: undefined }),
    },
    {
      name: 'random bytes',
      step(follower, random) {
        const bytes = Uint8Array.from({ length: random.below(2000) }, () => random.below(256));
        follower.sendBytes(bytes);
      },
    },
    {
      name: 'right kinds with random fields',
      listens: true,
      step: (follower, random) => follower.say(randomMessage(random)),
    },
    {
      name: 'right kinds with one changed byte',
      listens: true,
      step(follower, random) {
        const call = { kind: 'call', n: follower.n, mark: 1, method: 'echo', again: false, ack: 0 };
        const bytes = serialize({ ...call, args: serialize(['a', 1, [], { b: 2 }]) });
        bytes[random.below(bytes.length)] = random.below(256);
        follower.sendBytes(bytes);
      },
    },
    {
      name: 'messages of nearly the most bytes',
      listens: true,
      step(follower, random) {
        if (!random.onceIn(60)) return;
        follower.call('echo', ['x'.repeat(MESSAGE_BYTES_MAX - 300)]);
        follower.confirm();
      },
    },
    {
      name: 'messages of more than the most bytes',
      step(follower, random) {
        if (random.onceIn(60)) follower.sendBytes(new Uint8Array(MESSAGE_BYTES_MAX + 1));
      },
    },
    {
      name: 'messages of many megabytes',
      step(follower, random) {
        if (random.onceIn(200)) follower.sendBytes(new Uint8Array(3 * MESSAGE_BYTES_MAX));
      },
    },
    {
      name: 'a frame that claims to have gigabytes',
      step(follower, random) {
        const claimedBytes = random.pick([2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER]);
        follower.sendBytes(new Uint8Array(1000), { claimedBytes });
      },
    },
    {
      name: 'asks for the same part again and again',
      listens: true,
      step(follower) {
        if (follower.copy === null) follower.hello();
        else follower.say({ kind: 'next', copy: follower.copy, receipt: null });
      },
    },
    {
      name: 'asks for the whole snapshot again and again',
      listens: true,
      step(follower, random) {
        if (follower.copy !== null && random.below(3) > 0) {
          follower.say({
            kind: 'next',
            copy: follower.copy,
            receipt: follower.receipts.pop() ?? null,
          });
        } else if (random.onceIn(4)) follower.leave();
      },
    },
    {
      name: 'forged copies and positions in hello',
      greets: false,
      step(follower, random) {
        if (follower.stage++ > 0) return follower.leave();
        follower.hello({
          copy: random.onceIn(3) ? null : forgedCopy(random),
          position: random.onceIn(2) ? null : { id: random.below(2000), life: random.uint32() },
        });
      },
    },
    {
      name: 'forged copies in next',
      step: (follower, random) =>
        follower.say({ kind: 'next', copy: forgedCopy(random), receipt: null }),
    },
    {
      name: 'never reads, and calls for much',
      step(follower, random) {
        follower.stopReading();
        if (random.onceIn(40)) follower.call('give', [random.below(900_000)]);
      },
    },
    { name: 'never reads', step: (follower) => follower.stopReading() },
    {
      name: 'never reads, and pings',
      step(follower) {
        follower.stopReading();
        for (let i = 0; i < 20; i++) follower.sendBytes(PING);
      },
    },
    {
      name: 'never reads, and sends pings of WebSocket',
      step(follower) {
        follower.stopReading();
        for (let i = 0; i < 20; i++) {
          follower.sendBytes(new Uint8Array(125), { opcode: OPCODE.ping });
        }
      },
    },
    {
      name: 'reads and withholds receipts',
      listens: true,
      step: (follower, random) =>
        follower.call('give', [random.below(3000)], { ack: follower.last }),
    },
    {
      name: 'wrong receipts',
      listens: true,
      step: (follower, random) =>
        follower.say({ kind: 'ack', ack: follower.last, receipt: random.uint32() }),
    },
    {
      name: 'old receipts again and again',
      listens: true,
      step(follower) {
        const [oldest = 0] = follower.receipts;
        follower.say({ kind: 'ack', ack: follower.last, receipt: oldest });
      },
    },
    {
      name: 'acknowledges no outcome',
      listens: true,
      step: (follower, random) => follower.call('give', [random.below(100_000)], { ack: 0 }),
    },
    {
      name: 'acknowledges calls that were not made',
      listens: true,
      step: (follower, random) =>
        follower.say({ kind: 'ack', ack: follower.last + random.below(1000), receipt: 0 }),
    },
    {
      name: 'calls with large arguments',
      listens: true,
      step(follower, random) {
        if (!random.onceIn(20)) return;
        follower.call('record', [Array.from({ length: random.below(20_000) }, (_, i) => `${i}`)]);
        follower.confirm();
      },
    },
    {
      name: 'calls with one value a thousand times in another',
      listens: true,
      step(follower, random) {
        let value: unknown = ['x'.repeat(random.below(100))];
        for (let i = 0; i < 4 + random.below(16); i++) value = Array(10).fill(value);
        follower.call('echo', [value]);
        follower.confirm();
      },
    },
    {
      name: 'calls with keys of one hash, and many keys',
      listens: true,
      step(follower, random) {
        const keys = Array.from({ length: random.below(3000) }, (_, i) => [`${i * 2 ** 20}`, i]);
        follower.call('echo', [
          random.onceIn(2) ? Object.fromEntries(keys) : new Map(keys as never),
        ]);
        follower.confirm();
      },
    },
    {
      name: 'calls of methods that are not listed',
      listens: true,
      step(follower, random) {
        follower.call(random.pick(UNLISTED), []);
        follower.confirm();
      },
    },
    {
      name: 'calls with strange arguments',
      listens: true,
      step(follower, random) {
        follower.call(
          random.pick(METHODS),
          random.onceIn(5) ? strangeValue(random) : [strangeValue(random)],
        );
        follower.confirm();
      },
    },
    {
      name: 'right calls, as many as may be',
      listens: true,
      step(follower, random) {
        follower.call('record', [`${follower.n}`]);
        if (random.onceIn(3)) follower.confirm();
      },
    },
    {
      name: 'right calls of keys',
      listens: true,
      step(follower, random) {
        follower.call('put', [random.pick([...'abcdefgh']), 'x'.repeat(random.below(1000))]);
        if (random.onceIn(3)) follower.confirm();
      },
    },
    {
      name: 'calls that wait',
      listens: true,
      step(follower, random) {
        follower.call('wait', [random.below(300)]);
        if (random.onceIn(3)) follower.confirm();
      },
    },
    {
      name: 'calls that fail with large errors',
      listens: true,
      step(follower, random) {
        follower.call('fail', []);
        if (random.onceIn(3)) follower.confirm();
      },
    },
    {
      name: 'calls that may have been made before',
      listens: true,
      step(follower, random) {
        follower.call('record', ['again'], { again: true });
        if (random.onceIn(3)) follower.n = 1 + random.below(follower.n);
      },
    },
    {
      name: 'a hundred calls at once',
      listens: true,
      step(follower, random) {
        if (!random.onceIn(40)) return;
        for (let i = 0; i < 100; i++) follower.call('wait', [10]);
      },
    },
    {
      name: 'numbers out of order',
      listens: true,
      step: (follower, random) =>
        follower.call('echo', [], {
          n: random.pick([0, -1, 0.5, 1, follower.n + 2, 2 ** 53, 2 ** 60, Number.NaN]),
        }),
    },
    {
      name: "the friend's name with another identity",
      greets: false,
      step: (follower) => follower.hello({ client: friendName }),
    },
    {
      name: 'names that are no names',
      greets: false,
      step: (follower, random) =>
        follower.hello({
          client: random.pick<unknown>([
            ...['\ud800', `${friendName}\udfff`, 'x'.repeat(65), '', '__proto__', ' ', 'a b', 'é'],
            ...[7, null, {}, ['a'], 'x'.repeat(100_000), `${friendName}\0`, `${friendName} `],
          ]),
        }),
    },
    {
      name: 'a new name at each connection',
      greets: false,
      step(follower, random) {
        if (follower.stage++ > 0) return follower.leave();
        follower.hello({ client: `new-${random.uint32()}-${random.uint32()}` });
      },
    },
    {
      name: 'one name for all, each in place of the one before',
      greets: false,
      isOneIdentity: true,
      step(follower, random) {
        if (follower.stage++ === 0) follower.hello({ client: 'the-same' });
        else follower.call('record', ['same'], { n: 1 + random.below(4) });
      },
    },
    { name: 'comes and leaves', step: (follower) => follower.leave() },
    {
      name: 'more connections than an identity may have',
      weight: 8,
      isOneIdentity: true,
      step() {},
    },
    {
      name: 'floods with pings',
      step(follower, random) {
        for (let i = 0; i < random.below(60); i++) follower.sendBytes(PING);
      },
    },
    {
      name: 'floods with pings of WebSocket',
      step(follower, random) {
        const opcode = random.pick([OPCODE.ping, OPCODE.pong]);
        for (let i = 0; i < random.below(60); i++) {
          follower.sendBytes(new Uint8Array(random.below(126)), { opcode });
        }
      },
    },
    {
      name: 'exceeds its rate',
      step(follower, random) {
        if (!random.onceIn(150)) return;
        for (let i = 0; i < 2200; i++) follower.sendBytes(PING);
      },
    },
    {
      name: 'an identity that expires',
      lifetimeMs: (random) => random.below(3000) - 500,
      step: (follower) => follower.call('record', ['late']),
    },
    {
      name: 'versions that are not known',
      greets: false,
      step: (follower, random) =>
        follower.hello({
          protocol: random.pick<unknown>([
            { oldest: 1, newest: 1 },
            { oldest: 3, newest: 2 ** 53 - 1 },
            { oldest: 2, newest: 1 },
            { oldest: -1, newest: 2 },
            { oldest: 0, newest: Number.POSITIVE_INFINITY },
            null,
          ]),
        }),
    },
    {
      name: 'texts',
      step: (follower, random) =>
        follower.sendBytes(random.pick(['', '_follow_pin', '{}', 'x'.repeat(50_000), '\0', 'é'])),
    },
    {
      name: 'a message in a thousand frames',
      step(follower, random) {
        const isFirst = follower.stage++ === 0;
        const opcode = isFirst ? OPCODE.binary : OPCODE.continuation;
        const isLast = follower.stage > 1000;
        if (isLast) follower.stage = 0;
        follower.sendBytes(new Uint8Array(random.below(3)), { opcode, isLast });
      },
    },
    {
      name: 'a message that never ends',
      step(follower) {
        const isFirst = follower.stage++ === 0;
        const opcode = isFirst ? OPCODE.binary : OPCODE.continuation;
        follower.sendBytes(new Uint8Array(4 * KIB), { opcode, isLast: false });
      },
    },
    {
      name: 'leaves in the middle of a message',
      step(follower, random) {
        const isLeaving = follower.stage++ > 0;
        if (isLeaving) return follower.leave();
        follower.sendBytes(new Uint8Array(random.below(20_000)), { claimedBytes: 30_000 });
      },
    },
    {
      name: 'frames that break the rules of WebSocket',
      step(follower, random) {
        const isMasked = random.onceIn(2);
        const opcode = random.pick([3, 7, 11, 15, OPCODE.continuation, OPCODE.close]);
        follower.sendBytes(new Uint8Array(random.below(200)), { opcode, isMasked });
      },
    },
    {
      name: 'bytes that are no frames',
      step: (follower, random) =>
        follower.sendRaw(Uint8Array.from({ length: 100 }, () => random.below(256))),
    },
    { name: 'a second hello', step: (follower) => follower.hello() },
    {
      name: 'calls before hello',
      greets: false,
      step: (follower) => follower.call('record', ['x']),
    },
  ];
}
