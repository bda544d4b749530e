// What is inspected.

import type { RemoteObjects } from '../client/connect.ts';
import type { StorageHandle } from '../contract/storage.ts';

/** The classes of a connection. */
export type InspectedObjects = Pick<
  RemoteObjects<object>,
  'env' | 'list' | 'deleteObject' | 'storage'
>;

/** The classes of a connection, or one object's storage. */
export type InspectorSource =
  | { readonly objects: InspectedObjects }
  | { readonly storage: StorageHandle };
