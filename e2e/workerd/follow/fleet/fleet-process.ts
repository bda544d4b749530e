// The process of the hostile followers. Each round, every follower takes one step of its strategy, in random order, as long
// as all together have not sent the messages of this moment.

import { Random } from '../../../../packages/testing/simulate/world/random.ts';
import { HostileFollower, type Strategy } from './hostile-follower.ts';
import { strategiesAgainst } from './strategies.ts';

export interface FleetOptions {
  readonly url: string;
  readonly seed: number;
  readonly followers: number;
  readonly identities: number;
  readonly messagesPerSecond: number;
  readonly connectsPerSecond: number;
  /** The friend's name as a client. */
  readonly friendName: string;
  /** Only the strategies whose names contain this text. @default all */
  readonly only?: string;
}

/** What the fleet has done since it began. */
export interface FleetReport {
  readonly seconds: number;
  readonly sent: number;
  readonly sentBy: Readonly<Record<string, number>>;
  readonly connects: number;
  /** How many connections are open now. */
  readonly open: number;
  /** How many connections have ended, by their code. */
  readonly closes: Readonly<Record<number, number>>;
}

const TICK_MS = 20;

const options = JSON.parse(process.argv[2]!) as FleetOptions;
const closes: Record<number, number> = {};
const random = new Random(options.seed);
const followers = makeFollowers();
const startMs = performance.now();
let connects = 0;
let queue: HostileFollower[] = [];
/** May be negative: a step may send more than is left. */
let messagesLeft = 0;
let connectsLeft = 0;

const timer = setInterval(tick, TICK_MS);
let tickedAtMs = startMs;

process.on('message', (request: 'report' | 'leave') => {
  if (request === 'leave') {
    clearInterval(timer);
    for (const follower of followers) follower.leave();
  }
  process.send!(report());
});
process.on('disconnect', () => process.exit());

function makeFollowers(): HostileFollower[] {
  const strategies = strategiesAgainst(options.friendName)
    .filter(({ name }) => name.includes(options.only ?? ''))
    .flatMap((strategy) => Array<Strategy>(strategy.weight ?? 1).fill(strategy));
  return Array.from({ length: options.followers }, (_, i) => {
    const strategy = strategies[i % strategies.length]!;
    const identity = `stranger-${strategy.isOneIdentity ? 0 : i % options.identities}`;
    return new HostileFollower({
      ...{ strategy, identity, random: new Random(options.seed * 1_000_000 + i), url: options.url },
      closed: (code) => {
        closes[code] = (closes[code] ?? 0) + 1;
      },
    });
  });
}

function tick(): void {
  const nowMs = performance.now();
  // A process that was held up does not catch up: the messages of a second stay those of a second.
  const elapsedS = Math.min(nowMs - tickedAtMs, 100) / 1000;
  tickedAtMs = nowMs;
  messagesLeft += elapsedS * options.messagesPerSecond;
  connectsLeft = Math.min(connectsLeft + elapsedS * options.connectsPerSecond, 50);
  let idle = 0;
  while (messagesLeft >= 1 && idle < followers.length) {
    if (queue.length === 0) queue = random.shuffle(followers);
    const follower = queue.pop()!;
    const before = follower.sent;
    act(follower);
    const sent = follower.sent - before;
    messagesLeft -= sent;
    idle = sent === 0 ? idle + 1 : 0;
  }
  messagesLeft = Math.min(messagesLeft, options.messagesPerSecond / 10);
}

function act(follower: HostileFollower): void {
  if (follower.isClosed && connectsLeft >= 1) {
    connectsLeft -= 1;
    connects += 1;
    follower.connect();
  } else if (follower.canAct) follower.strategy.step(follower, follower.random);
}

function report(): FleetReport {
  const sentBy: Record<string, number> = {};
  for (const { strategy, sent } of followers) {
    sentBy[strategy.name] = (sentBy[strategy.name] ?? 0) + sent;
  }
  return {
    seconds: (performance.now() - startMs) / 1000,
    sent: followers.reduce((sum, { sent }) => sum + sent, 0),
    open: followers.filter(({ isClosed }) => !isClosed).length,
    ...{ sentBy, connects, closes },
  };
}
