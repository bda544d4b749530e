import { describe, expect, test } from 'vitest';
import type { Deployment } from '../../../src/shared/contract/deployment.ts';
import { ClassRegistry } from '../../objects/instance/object-class.ts';
import { type CompareBuilds, codeDigest, orderOf } from './deployment-order.ts';

const base: Deployment = { build: null, code: 'code', startedMs: 0 };

/** Returns how the second deployment compares with the first. */
function compared(
  own: Partial<Deployment>,
  other: Partial<Deployment>,
  compareBuilds?: CompareBuilds,
): string {
  const [one, two] = [
    { ...base, ...own },
    { ...base, ...other },
  ];
  const order = orderOf(two, one, compareBuilds);
  const reverse = orderOf(one, two, compareBuilds);
  expect([order, reverse].sort()).toEqual(order === 'same' ? ['same', 'same'] : ['newer', 'older']);
  return order;
}

const byNumber: CompareBuilds = (one, other) => Number(one) - Number(other);

describe('which deployment is newer', () => {
  test.for<[string, string, Partial<Deployment>, Partial<Deployment>, CompareBuilds?]>([
    ['the greater number', 'newer', { build: 9, startedMs: 5 }, { build: 10 }],
    ['equal numbers', 'same', { build: 9, code: 'a' }, { build: 9, code: 'b', startedMs: 7 }],
    ["by the app's comparison", 'newer', { build: '9', startedMs: 5 }, { build: '10' }, byNumber],
    ['equal, as the app says', 'same', { build: '9' }, { build: '9.0' }, byNumber],
    ['strings, the last started', 'newer', { build: 'b' }, { build: 'a', startedMs: 1 }],
    ['a build before none', 'newer', { startedMs: 5 }, { build: 0 }],
    ['no build, other code, the last started', 'newer', {}, { code: 'x', startedMs: 1 }],
    ['no build, other code, the first started', 'older', { startedMs: 1 }, { code: 'x' }],
    ['no build, the same code', 'same', {}, { startedMs: 1 }],
    [
      'builds that the app cannot compare',
      'newer',
      { build: 'a' },
      { build: 'b', startedMs: 1 },
      byNumber,
    ],
    ['a comparison that throws', 'newer', { build: 1 }, { build: 2, startedMs: 1 }, thrower],
    ['a comparison in a circle', 'older', { build: 1, startedMs: 1 }, { build: 2 }, () => 1],
  ])('[BUILD3] %s', ([, order, own, other, compareBuilds]) => {
    expect(compared(own, other, compareBuilds)).toBe(order);
  });

  test('[BUILD3] two that started at the same time have one order', () => {
    expect(compared({ code: 'a' }, { code: 'b' })).not.toBe('same');
  });
});

function thrower(): number {
  throw new Error('not a build of ours');
}

describe('the code of a deployment', () => {
  const app = 'https://app.test/objects-4f2a.js';
  const room = new ClassRegistry({
    Room: class {
      add = () => 1;
    },
  });
  const changed = new ClassRegistry({
    Room: class {
      add = () => 2;
    },
  });

  test('[BUILD3] differs with the address of the script, and with the text of its classes', async () => {
    const digest = await codeDigest(app, room);
    expect(await codeDigest(`${app}#hash`, room)).toBe(digest);
    expect(await codeDigest('https://app.test/objects-77aa.js', room)).not.toBe(digest);
    expect(await codeDigest(app, changed)).not.toBe(digest);
    expect(await codeDigest(app)).not.toBe(digest);
    expect(await codeDigest(app, room, ['default\nfetch() {}'])).not.toBe(digest);
  });

  test('[BUILD3] is the same in all tabs that start it from a blob', async () => {
    const one = await codeDigest('blob:https://app.test/1111', room);
    expect(await codeDigest('blob:https://app.test/2222', room)).toBe(one);
    expect(await codeDigest('blob:https://app.test/2222', changed)).not.toBe(one);
  });
});
