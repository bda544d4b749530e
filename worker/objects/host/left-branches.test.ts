// Folders of branches that an earlier host or a failure has left: the next host removes them, unless they are in use.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { SlowMedium } from '../../../packages/testing/worker/slow-medium.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import {
  addressKey,
  branchAddress,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import type { FileDirectory } from '../../engine/file/file.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

class Box extends DurableObject {}

let medium: SlowMedium;
let host: TestHost;
/** The key of the object's folder. */
let key: string;

/** The process begins. */
async function begin(): Promise<void> {
  const world = { medium, catalog: new MemoryCatalog() };
  host = await createTestHost({}, { Box }, undefined, world);
  key = addressKey(host.address());
}

beforeEach(async () => {
  medium = new SlowMedium();
  await begin();
});
afterEach(async () => {
  medium.release();
  await host.close();
});

const at = <T>(address: ObjectAddress, event: (instance: ObjectInstance) => T | Promise<T>) =>
  host.host.deliver(address, event);

async function fork(name: string | null, origin = host.address()): Promise<ObjectAddress> {
  const request = { at: null, name, isKept: name !== null, sends: false };
  const { id } = await at(origin, (instance) => host.host.branches.fork(instance, request));
  return branchAddress(origin, id);
}

const write = (address: ObjectAddress, x: string) =>
  at(address, ({ storage }) => {
    storage.exec('CREATE TABLE IF NOT EXISTS t (x)', []);
    storage.exec('INSERT INTO t VALUES (?)', [x]);
  });
const read = (address: ObjectAddress) =>
  at(address, ({ storage }) => [...storage.exec('SELECT x FROM t', []).raw()].flat());
const isOpen = (address: ObjectAddress) => host.host.instances.has(addressKey(address));

/** An object with a kept branch, one below it, and folders that a crash has left; the names of these. */
async function crashed() {
  await write(host.address(), 'origin');
  const kept = await fork('kept');
  const below = await fork('below', kept);
  for (const address of [kept, below]) await write(address, 'branch');
  await host.close();
  const [one, two] = ['1', '2'].map((digit) => digit.repeat(32));
  const [keptKey, belowKey] = [kept, below].map(addressKey);
  const facet = 'f'.repeat(32);
  const other = key.replace(/\w{8}$/, '00000000');
  const left = {
    ofObject: [
      `${key}~${one}`,
      `${key}~${one}~base`,
      `${key}~${one}~${two}`,
      `${key}~${one}.${facet}`,
    ],
    ofBranches: [`${keptKey}~base`, `${keptKey}~${one}`, `${belowKey}~base`],
    ofOther: [`${other}~${one}`],
  };
  const staying = [key, keptKey!, belowKey!, `${keptKey}.${facet}`];
  for (const name of [...Object.values(left).flat(), ...staying]) await medium.directory(name);
  await begin();
  return { kept, below, left, staying };
}

const keys = async () => (await medium.keys()).toSorted();

test('[BRANCH12] a host removes what a crash left of branches, of every object, and opens none of them', async () => {
  const { kept, below, staying } = await crashed();
  await host.host.branches.sweep();
  expect([kept, below, host.address()].map(isOpen)).toEqual([false, false, false]);
  expect(await keys()).toEqual(staying.toSorted());
  for (const address of [kept, below]) expect(await read(address)).toEqual(['origin', 'branch']);
});

test('[BRANCH12] the branches of an object that is open are not removed, nor is a branch that its next instance makes meanwhile', async () => {
  const { kept, staying } = await crashed();
  await read(host.address()); // now the object is open
  // The sweep begins, and gets the names of the folders only at the end.
  const { keys: list } = medium;
  let go = () => {};
  const until = new Promise<void>((resolve) => (go = resolve));
  medium.keys = () => until.then(list);
  const swept = host.host.branches.sweep();
  await fork(null); // it looks at the folders, too
  // Meanwhile the next instance makes a branch, whose folder nobody has open when it is listed.
  await host.host.reset(host.address(), new Error('reset'));
  const later = await fork('later');
  await write(later, 'branch');
  await host.host.evict(later);
  go();
  await swept;
  await host.turns(50);
  expect(await keys()).toEqual([...staying, addressKey(later)].toSorted());
  for (const address of [kept, later]) expect(await read(address)).toEqual(['origin', 'branch']);
});

test('[BRANCH7] an object whose list of branches cannot be read is not deleted, and nothing of it, until it can be', async () => {
  await host.close();
  let isFailing = false;
  failing((_, name, call) => isFailing && name === 'branches' && call === 'read');
  await begin();
  await write(host.address(), 'origin');
  const branch = await fork('kept');
  await write(branch, 'branch');
  for (const address of [branch, host.address()]) await host.host.evict(address);
  isFailing = true;
  await expect(host.host.erase(host.address())).rejects.toMatchObject({ code: 'IO' });
  isFailing = false;
  expect(await read(branch)).toEqual(['origin', 'branch']);
  await host.host.erase(host.address());
  expect(await keys()).toEqual([]);
});

test('[BRANCH12] the files of a branch that is not kept stay until it ends, and pages of its origin while a branch is open', async () => {
  const { kept, below, left, staying } = await crashed();
  const { keys: list } = medium;
  let go = () => {};
  const until = new Promise<void>((resolve) => (go = resolve));
  medium.keys = () => until.then(list);
  await read(below); // which opens its origins
  const lone = await fork(null);
  const end = host.host.branches.hold(lone);
  for (const address of [lone, kept]) await medium.directory(`${addressKey(address)}~base`);
  await medium.directory(addressKey(lone));
  go();
  await host.host.branches.sweep();
  const used = [left.ofBranches[0], left.ofBranches[2]];
  const expected = [...staying, ...used, addressKey(lone)]; // not pages of its origin: it is not open
  expect(await keys()).toEqual(expected.toSorted());
  end();
});

test('[BRANCH12] a fork of the object removes what a crash left of its branches, not of those below them or of others', async () => {
  const { left, staying } = await crashed();
  await fork(null);
  await host.turns(50);
  const others = [...left.ofBranches.slice(1), ...left.ofOther];
  expect(await keys()).toEqual([...staying, ...others].toSorted());
});

test('[BRANCH12] files that cannot be removed, or whose list cannot be read, are left to the next host', async () => {
  const { left, staying } = await crashed();
  const { remove } = medium;
  medium.remove = async () => {
    throw storageError('IO', 'remove: fails.');
  };
  await host.host.branches.sweep();
  await fork(null);
  await host.turns(50);
  expect(await keys()).toEqual([...staying, ...Object.values(left).flat()].toSorted());
  medium.remove = remove;
  await host.close();
  await begin();
  await host.host.branches.sweep();
  expect(await keys()).toEqual(staying.toSorted());
});

test('[BRANCH7] the deletion of an object ends its branches, and removes their folders and what a crash left', async () => {
  const { kept, below, left } = await crashed();
  const lone = await fork(null);
  const inner = await fork(null, lone);
  const all = [lone, inner, kept, below];
  for (const address of [lone, inner]) host.host.branches.hold(address);
  for (const address of all) await read(address);
  await host.host.erase(host.address());
  expect(await keys()).toEqual(left.ofOther);
  for (const address of all)
    await expect(read(address)).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
});

test('[BRANCH5] the deletion of a branch rejects its calls with the reason, and ends those below it', async () => {
  await write(host.address(), 'origin');
  const kept = await fork('kept');
  const below = await fork('below', kept);
  await write(below, 'below');
  const call = at(kept, () => new Promise<never>(() => {})).catch((error) => error);
  await host.turns(20);
  await at(host.address(), (instance) => host.host.branches.delete(instance, 'kept'));
  expect(await call).toMatchObject({
    code: 'BRANCH_ENDED',
    message: 'The branch has ended: it was deleted. Fork again.',
  });
  await expect(read(below)).rejects.toMatchObject({ code: 'BRANCH_ENDED' });
  expect(await keys()).toEqual([key]);
});

test('[BRANCH7] calls of a branch under way end with the reset of its origin, whose reason they name', async () => {
  await write(host.address(), 'origin');
  const branch = await fork('kept');
  const call = at(branch, () => new Promise<never>(() => {})).catch((error) => error);
  await host.turns(20);
  await host.host.reset(host.address(), new Error('the reset'));
  expect(await call).toMatchObject({
    code: 'OBJECT_RESET',
    message: 'The origin of the branch has restarted, and the branch with it.',
  });
  expect(await read(branch)).toEqual(['origin']);
});

/** The files of these keys fail while it is true. */
function failing(fails: (key: string, name: string, call: 'open' | 'read') => boolean): void {
  const directory = medium.directory.bind(medium);
  medium.directory = async (of): Promise<FileDirectory> => {
    const inner = await directory(of);
    const check = (name: string, call: 'open' | 'read') => {
      if (fails(of, name, call)) throw storageError('IO', `${call} "${name}": fails.`);
    };
    return {
      names: () => inner.names(),
      remove: (name) => inner.remove(name),
      open: async (name) => {
        check(name, 'open');
        const file = await inner.open(name);
        return {
          read: (target, offset) => {
            check(name, 'read');
            return file.read(target, offset);
          },
          write: file.write.bind(file),
          truncate: file.truncate.bind(file),
          sizeBytes: file.sizeBytes.bind(file),
          flush: file.flush.bind(file),
          close: file.close.bind(file),
        };
      },
    };
  };
}

test.for([
  [
    'the history of its origin',
    (of: string, _: string, call: string) => of === key && call === 'read',
  ],
  ['its own files', (of: string, _: string, call: string) => of !== key && call === 'open'],
] as const)(
  '[BRANCH7] a branch that cannot be opened, because %s cannot be read, lets its origin go, and can be opened later',
  async ([, fails]) => {
    let isFailing = false;
    failing((of, name, call) => isFailing && fails(of, name, call));
    await host.close();
    await begin();
    await write(host.address(), 'origin');
    const branch = await fork('kept');
    await write(branch, 'branch');
    await host.host.evict(branch);
    await write(host.address(), 'later');
    isFailing = true;
    await expect(read(branch)).rejects.toMatchObject({ code: 'IO' });
    isFailing = false;
    await host.advance(3_600_000);
    expect(isOpen(host.address())).toBe(false);
    expect(await read(branch)).toEqual(['origin', 'branch']);
  },
);

test('[BRANCH14] a branch whose first write becomes durable while the host ends is there for the next host', async () => {
  await write(host.address(), 'origin');
  const branch = await fork('kept');
  await read(branch);
  medium.holds = (of, name) => of === addressKey(branch) && name.startsWith('log-');
  const written = write(branch, 'branch').then(
    () => 'written',
    (error) => error.code,
  );
  while (medium.heldCount === 0) await host.turns(1);
  const closed = host.close();
  await host.turns(5);
  medium.release();
  await closed;
  expect(['written', 'OBJECT_RESET']).toContain(await written);
  await begin();
  expect(await read(branch)).toEqual(['origin', 'branch']);
});

test('[BRANCH14] a write of a branch is not concerned by a list that cannot be stored; a later opening notes it', async () => {
  await write(host.address(), 'origin');
  const branch = await fork('kept');
  medium.fails = (_, name) => name === 'branches';
  await write(branch, 'branch');
  await host.turns(20);
  medium.fails = () => false;
  expect(await read(branch)).toEqual(['origin', 'branch']);
  const isNoted = () =>
    at(host.address(), ({ storage }) => storage.branchPoint.kept.list[0]!.isStored);
  await host.host.evict(branch);
  await write(branch, 'again');
  await host.turns(20);
  expect(await isNoted()).toBe(true);
});

test.for([
  ['a kept branch', 'kept', false, true],
  ['an open branch', null, false, true],
  ['a branch that has ended', null, true, false],
  ['no branch', undefined, false, false],
] as const)(
  '[BRANCH5] an object that was never written has files after its end while it has a branch; it has %s',
  async ([, name, hasEnded, isStored]) => {
    await at(host.address(), () => {});
    const branch = name === undefined ? undefined : await fork(name);
    const end = branch && host.host.branches.hold(branch);
    if (hasEnded) end?.();
    await host.host.evict(host.address());
    await at(host.address(), () => {}); // the next instance has given out no bookmark
    await host.host.evict(host.address());
    expect((await keys()).includes(key)).toBe(isStored);
    if (branch !== undefined && !hasEnded) await write(branch, 'branch');
  },
);

test('[BRANCH5] [LOG25] [LOG30] a fork that the disk has refused resets the object, a wrong fork does not', async () => {
  await write(host.address(), 'origin');
  await fork('kept');
  let before = await host.host.instance(host.address());
  await expect(fork('kept')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(await host.host.instance(host.address())).toBe(before);
  for (const code of ['IO', 'DISK_FULL'] as const) {
    let isFailing = true;
    medium.fails = (_, name) => {
      if (isFailing && name === 'branches') throw storageError(code, 'flush: fails.');
      return false;
    };
    await expect(fork(code)).rejects.toMatchObject({ code });
    isFailing = false;
    let flushes = 0;
    medium.fails = (_, name) => {
      if (name === 'branches') flushes++;
      return false;
    };
    const after = await host.host.instance(host.address());
    expect(after).not.toBe(before);
    expect(flushes).toBe(2); // bytes that are read may not be stored: both copies are, once more
    before = after;
  }
  expect(await read(host.address())).toEqual(['origin']);
});

test('[LOG17] the ids of branches have 32 digits, and differ', async () => {
  await write(host.address(), 'origin');
  const made = [];
  for (let i = 0; i < 40; i++) made.push((await fork(null)).branch![0]!);
  expect(made.filter((id) => !/^[0-9a-f]{32}$/.test(id))).toEqual([]);
  expect(new Set(made).size).toBe(40);
});
