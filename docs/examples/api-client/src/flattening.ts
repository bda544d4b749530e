// Whether a zone flattens all CNAME records: by the setting that ends on 2025-03-21, and by what replaces it.

import type { Api } from './api.ts';

/** The old way. */
export async function flattensBySetting(api: Api, zone: string): Promise<boolean> {
  const setting = await api.call<{ value: 'off' | 'apex' | 'on' }>(
    'GET',
    `/zones/${zone}/settings/cname_flattening`,
  );
  return setting.value === 'on';
}

/** The new way. */
export async function flattens(api: Api, zone: string): Promise<boolean> {
  const settings = await api.call<{ flatten_all_cnames: boolean }>(
    'GET',
    `/zones/${zone}/dns_settings`,
  );
  return settings.flatten_all_cnames;
}

export async function setFlattens(api: Api, zone: string, on: boolean): Promise<void> {
  await api.call('PATCH', `/zones/${zone}/dns_settings`, { flatten_all_cnames: on });
}
