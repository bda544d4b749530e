// The provider as a worker on workerd: the default export of a module with its objects.

import { createManagementApi, type ManagementApi, type ManagementOptions } from '../edge/api.ts';
import type { ManagementNamespace } from '../objects/objects.ts';

/**
 * `export default managementWorker('MANAGEMENT')`, where MANAGEMENT is the binding of the namespace
 * of `ManagementObject`, which the same module exports.
 */
export function managementWorker(
  binding: string,
  options: Omit<ManagementOptions, 'namespace'> = {},
): { fetch(request: Request, env: Readonly<Record<string, unknown>>): Promise<Response> } {
  const apis = new WeakMap<object, ManagementApi>();
  return {
    fetch(request, env) {
      const namespace = env[binding] as ManagementNamespace | undefined;
      if (namespace === undefined)
        throw new TypeError(
          `env has no binding "${binding}" with the namespace of ManagementObject.`,
        );
      const api = apis.get(env) ?? createManagementApi({ ...options, namespace });
      apis.set(env, api);
      return api.fetch(request);
    },
  };
}
