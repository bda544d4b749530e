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
   * The clock of the connection, if the inspector may move it. A stopped clock stops the time of all objects of the
   * worker, in every tab, until it is moved again or follows real time again.
   *
   * @default no clock
   */
  readonly clock?: DrivenClock;
};
