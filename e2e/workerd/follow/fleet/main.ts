// npm run fleet:follow -- [--on node|workerd] [--minutes N] [--seed N] [--followers N] [--only TEXT]
//
// 999 hostile followers of 100 identities and a friend follow one object. Prints what the friend and the server notice, and
// fails if the server's memory grows by more than 128 MB, the friend's median call takes more than twice its time without
// the fleet, or one of the friend's calls is lost or runs twice.

import { parseArgs } from 'node:util';
import { describeCalls, quantile, runFleet } from './run-fleet.ts';

const GROWTH_MB_MAX = 128;
const SLOWDOWN_MAX = 2;

const { values } = parseArgs({
  options: {
    on: { type: 'string', default: 'node' },
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    followers: { type: 'string', default: '999' },
    messages: { type: 'string', default: '5000' },
    only: { type: 'string', default: '' },
  },
});
const [minutes, seed, followers, messagesPerSecond] = [
  values.minutes,
  values.seed,
  values.followers,
  values.messages,
].map(Number) as [number, number, number, number];
const { on: platform, only } = values;
if (platform !== 'node' && platform !== 'workerd') {
  throw new Error('fleet:follow: --on takes node or workerd.');
}
if (!(minutes > 0 && followers > 0 && messagesPerSecond > 0) || !Number.isSafeInteger(seed)) {
  throw new Error(
    'fleet:follow: --minutes, --followers and --messages take numbers above 0, --seed a whole one.',
  );
}

const fleetMs = minutes * 60_000;
const result = await runFleet({
  ...{ platform, seed, followers, messagesPerSecond, only, fleetMs },
  aloneMs: fleetMs / 10,
  identities: 100,
  connectsPerSecond: 100,
  print: (line) => console.log(line),
});
const { alone, withFleet, memory, fleet, lost, duplicated, failures, size } = result;
const slowdown = quantile(withFleet.durationsMs, 0.5) / quantile(alone.durationsMs, 0.5);
console.log(`
the friend alone      ${describeCalls(alone)}
the friend with all   ${describeCalls(withFleet)}, ${slowdown.toFixed(2)} x
its calls             ${result.acknowledged} acknowledged, ${lost.length} lost, ${duplicated.length} duplicated, ${failures.length} failed
resident memory       ${memory.before} MB before, ${memory.max} MB at most, ${memory.after} MB after
the server            ${result.coreShare.toFixed(2)} of a core
the fleet             ${Math.round(fleet.sent / fleet.seconds)} messages/s, ${fleet.connects} connections, ${fleet.open} open at the end
closes by code        ${JSON.stringify(fleet.closes)}
the object            ${size.bytes} bytes, ${size.clients} clients`);

const broken = [
  ...(result.isServerAlive ? [] : ['the server has ended']),
  ...(memory.max - memory.before > GROWTH_MB_MAX
    ? [`the server's memory grew by ${memory.max - memory.before} MB, at most ${GROWTH_MB_MAX}`]
    : []),
  ...(slowdown <= SLOWDOWN_MAX
    ? []
    : [`the friend's calls take ${slowdown.toFixed(2)} x their time`]),
  ...[...lost, ...duplicated].map((id) => `${id} is not there once`),
  ...failures,
  ...(result.unanswered > 0 ? [`${result.unanswered} calls are not answered`] : []),
];
for (const fault of broken) console.log(`BROKEN: ${fault}`);
process.exitCode = broken.length === 0 ? 0 : 1;
