// Marks the classes whose methods may be called: those that extend DurableObject or WorkerEntrypoint, as in workerd. For
// any other class, only the handlers are public.
//
// A symbol on the prototype marks them instead of `instanceof`, because user code may be bundled separately from its host.

/** Marks the prototype of DurableObject. */
export const CALLABLE: unique symbol = Symbol.for('ctx-storage.callable') as never;

/** Marks the prototypes of WorkerEntrypoint ('worker') and WorkflowEntrypoint ('workflow'). */
export const ENTRYPOINT: unique symbol = Symbol.for('ctx-storage.entrypoint') as never;

/** Checks that methods of the object may be called. @throws TypeError if its class does not extend DurableObject */
export function mustBeCallable(object: object): void {
  if (CALLABLE in object || ENTRYPOINT in object) return;
  throw new TypeError(
    'The receiving Durable Object does not support RPC, because its class was not declared with ' +
      '`extends DurableObject`. In order to enable RPC, make sure your class extends the special ' +
      'class `DurableObject`, which can be imported from the module "cloudflare:workers".',
  );
}
