// Tests a page to which the browser denies locks or channels, as it does if the user blocks site data.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PageClient } from './page-client.ts';

const refusal = () => new DOMException('Access to the Locks API is denied.', 'SecurityError');
const expected = {
  code: 'OPFS_UNAVAILABLE',
  message: expect.stringMatching(/^\w+: .*is denied\. If site data is blocked, allow it/),
  cause: expect.any(DOMException),
};
const spawn = vi.fn();
let client: PageClient;

beforeEach(() => {
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('document', { baseURI: 'https://app.test/', addEventListener() {} });
  vi.stubGlobal('navigator', { locks: { request: () => Promise.reject(refusal()) } });
  client = new PageClient({ take: (_, start) => start() });
});
afterEach(() => {
  expect(spawn).not.toHaveBeenCalled();
  vi.unstubAllGlobals();
});

const open = (name: string, options = {}) => client.openStorage(name, options, spawn, () => {});

describe('where the browser refuses locks', () => {
  test('[START31] openStorage and connect are OPFS_UNAVAILABLE', async () => {
    await expect(open('one')).rejects.toMatchObject(expected);
    await expect(client.connect(spawn, { directory: 'other' })).rejects.toMatchObject(expected);
    await expect(open('two')).rejects.toMatchObject(expected);
  });

  test('[START31] so are the calls of an early handle, whose state tells it', async () => {
    const storage = await open('early', { early: true });
    const onError = vi.fn();
    storage.live({ key: 'a' }).subscribe(() => {}, { onError });
    await expect(storage.get('a')).rejects.toMatchObject(expected);
    await expect(storage.put('a', 1)).rejects.toMatchObject(expected);
    expect([storage.state, storage.stateReason]).toEqual([
      'lost',
      expect.objectContaining(expected),
    ]);
    expect(onError).toHaveBeenCalledWith(expect.objectContaining(expected));
    await storage.close();
  });

  test('[START31] another failure is no refusal', async () => {
    const other = new DOMException('The document is not active.', 'InvalidStateError');
    vi.stubGlobal('navigator', { locks: { request: () => Promise.reject(other) } });
    await expect(open('one')).rejects.toBe(other);
  });
});

test('[START31] channels that are refused are OPFS_UNAVAILABLE', async () => {
  const refused = class {
    constructor() {
      throw refusal();
    }
  };
  vi.stubGlobal('BroadcastChannel', refused);
  await expect(open('one')).rejects.toMatchObject(expected);
});
