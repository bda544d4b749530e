// Which objects may be called: those whose class extends DurableObject or WorkerEntrypoint, as in workerd.
// Of any other class only the handlers are public.
//
// Known by a mark instead of the class itself: user code may be bundled apart from its host.

/** On the prototype of DurableObject. */
export const CALLABLE: unique symbol = Symbol.for('ctx-storage.callable') as never;

/** On the prototypes of WorkerEntrypoint and WorkflowEntrypoint: which of both. */
export const ENTRYPOINT: unique symbol = Symbol.for('ctx-storage.entrypoint') as never;

/** @throws TypeError when the class of the object does not extend DurableObject */
export function mustBeCallable(object: object): void {
  if (CALLABLE in object || ENTRYPOINT in object) return;
  throw new TypeError(
    'The receiving Durable Object does not support RPC, because its class was not declared with ' +
      '`extends DurableObject`. In order to enable RPC, make sure your class extends the special ' +
      'class `DurableObject`, which can be imported from the module "cloudflare:workers".',
  );
}
