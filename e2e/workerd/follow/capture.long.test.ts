// The changes of an object in workerd, applied to a copy of it here after each statement: the copy is equal.

import { expect, test } from 'vitest';
import { decodeChanges } from '../../../packages/follow/changes/changes-bytes.ts';
import { applyChanges } from '../../../packages/follow/copy/apply-changes.ts';
import {
  ENDED_BY_TRIGGERS,
  REPLACING,
  STATEMENTS,
} from '../../../packages/follow/copy/capture-statements.ts';
import type { Position } from '../../../packages/follow/protocol/messages.ts';
import { contentDump } from '../../../packages/follow/testing/content-dump.ts';
import { createTestHost } from '../../../packages/testing/worker/test-host.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { roomsInWorkerd } from './rooms.ts';

const CAPTURED = `
  import { capturedOn } from './captured.ts';
  export const Room = capturedOn(DurableObject);`;

test('[FOLC1] the changes of an object in workerd make a copy here equal after each statement', {
  timeout: 120_000,
}, async () => {
  const rooms = await roomsInWorkerd(CAPTURED);
  const here = await createTestHost({}, { Copy: class extends DurableObject {} });
  here.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Copy']) };
  const room = rooms.room('a');
  const inCopy = here.host.deliver.bind(here.host, here.address());
  try {
    let position: Position | null = null;
    const catchUp = async () => {
      const { to, bytes } = (await room.call('changes', position)) as {
        to: Position;
        bytes: string;
      };
      position = to;
      const changes = deserialize(new Uint8Array(Buffer.from(bytes, 'hex'))) as unknown[];
      await inCopy(({ storage }) =>
        storage.replicate((copy) => {
          for (const one of changes) applyChanges(copy, decodeChanges(one));
        }),
      );
    };
    const expectEqual = async (statement: string) => {
      await catchUp();
      const copy = await inCopy(({ storage }) =>
        contentDump((query) => [...storage.exec(query, []).raw()]),
      );
      expect([statement, copy]).toEqual([statement, await room.call('dump')]);
    };
    for (const statement of [...STATEMENTS, ...REPLACING, ...ENDED_BY_TRIGGERS]) {
      await room.call('exec', statement).catch(() => {}); // it has ended the instance
      await expectEqual(statement);
    }
    position = null;
    await expectEqual('a snapshot');
  } finally {
    await rooms.close();
    await here.close();
  }
});
