// A live read of the storage: the operation it repeats, and its result as bytes.

import type { StorageRead } from '../../src/contract/live.ts';
import { serialize } from '../../src/serializer/encode.ts';
import type { ObjectStorage } from '../storage/object-storage.ts';
import { perform } from '../storage/perform.ts';
import type { LiveRead } from './live-reads.ts';

export function storageRead(storage: ObjectStorage, read: StorageRead): LiveRead {
  return { kind: 'storage', run: () => serialize(resultOf(storage, read)) };
}

function resultOf(storage: ObjectStorage, read: StorageRead): unknown {
  if (read.op !== 'query') return perform(storage, read.op, read as never);
  const cursor = storage.exec(read.query, read.bindings);
  const rows = cursor.raw().toArray();
  return { columnNames: [...cursor.columnNames], rows };
}
