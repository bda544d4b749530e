// How a facet starts: what the callback of its parent has said, once it has been checked.

import type { DurableObjectId } from '../../src/contract/object-id.ts';
import type { HostedClass } from './object-class.ts';

export interface FacetStartup {
  readonly class: HostedClass;
  /** `ctx.id` of the facet. */
  readonly id: DurableObjectId | string;
  /** `ctx.props` of the facet, as a payload; null: none were given. */
  readonly props: Uint8Array | null;
}
