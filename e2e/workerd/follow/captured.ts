// A class of workerd whose changes are noted, for the test beside this one.

import { Capture } from '../../../packages/follow/capture/capture.ts';
import { encodeChanges } from '../../../packages/follow/changes/changes-bytes.ts';
import type { Position } from '../../../packages/follow/protocol/messages.ts';
import { contentDump } from '../../../packages/follow/testing/content-dump.ts';
import { wholeCopy } from '../../../packages/follow/testing/whole-copy.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { serialize } from '../../../src/shared/values/encode.ts';

interface ObjectBase {
  readonly ctx: { readonly storage: DurableObjectStorage };
}

export function capturedOn(Base: new (ctx: never, env: never) => ObjectBase) {
  return class Captured extends Base {
    readonly #capture: Capture;

    constructor(ctx: never, env: never) {
      super(ctx, env);
      const life = crypto.getRandomValues(new Uint32Array(1))[0]! || 1;
      this.#capture = new Capture(this.ctx.storage, { life, onWrite() {} });
    }

    /** A text may fail; its earlier statements have taken effect. */
    exec(text: string): void {
      try {
        this.ctx.storage.sql.exec(text).toArray();
      } catch {
        // The statements before the failed one have taken effect.
      }
    }

    /** The changes since a position, as a message has them, and the position now. */
    changes(since: Position | null): { to: Position; bytes: string } {
      const to = this.#capture.head();
      const isKnown = since !== null && this.#capture.lifeAt(since.id) === since.life;
      const found = isKnown
        ? [this.#capture.changesSince(since, Number.POSITIVE_INFINITY)!]
        : wholeCopy(this.#capture);
      return { to, bytes: hexOf(serialize(found.map(encodeChanges))) };
    }

    dump(): Promise<unknown> {
      return contentDump((query) => [...this.ctx.storage.sql.exec(query).raw()]);
    }
  };
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
