// The data source of an inspector: one handle, or the objects of a connection.

import type { RemoteObjects } from '@ctx-storage/core/page';
import type { StorageHandle } from '@ctx-storage/core/storage';
import type { DrivenClock } from './clock-time.ts';

/** The members of a connection that the inspector uses. */
export type InspectedObjects = Pick<
  RemoteObjects<object>,
  'env' | 'list' | 'deleteObject' | 'storage'
>;

/** The classes of a connection, or one object's storage. */
export type InspectorSource = (
  | { readonly objects: InspectedObjects }
  | { readonly storage: StorageHandle }
) & {
  /**
   * The clock of the connection, if the inspector may move it: the time of all objects of the worker, in every tab,
   * stands until it is moved on or goes back to real time. @default none
   */
  readonly clock?: DrivenClock;
};
