// Until 2025-03-14 the settings of an account have `default_nameservers` and
// `use_account_custom_ns_by_default` where the DNS settings have `zone_defaults.nameservers.type`.
//
// The older fields cannot express `provider.standard.random`. They show it as `provider.standard`, and
// writing that back changes nothing. The new value therefore depends on the current one, so the account
// looks it up in a table, inside its own transaction.

import { apiError } from '../call/call.ts';
import { ACCOUNT_NAMESERVERS, type AccountNameservers } from '../resources/dns-settings.ts';
import type { Change, Fields } from './change.ts';

const OLD_TYPES: readonly unknown[] = ['provider.standard', 'custom.account', 'custom.tenant'];

export const accountNameservers: Change = {
  id: 'account-nameservers',
  request(call) {
    const settings = (call.body as { settings?: unknown } | undefined)?.settings;
    if (call.method === 'GET' || typeof settings !== 'object' || settings === null) return call;
    const next = ACCOUNT_NAMESERVERS.map((current) => [
      current,
      newTypeFrom(settings as Fields, current),
    ]);
    return { ...call, nameserverTypes: Object.fromEntries(next) };
  },

  response(answer) {
    if (answer.status >= 400) return answer;
    const { result, dnsSettings = [] } = answer;
    const accounts = (Array.isArray(result) ? result : [result]) as Fields[];
    const shown = accounts.map((account, index) => withOldFields(account, dnsSettings[index]));
    return { ...answer, result: Array.isArray(result) ? shown : shown[0] };
  },
};

function withOldFields(account: Fields, dnsSettings: unknown): Fields {
  const { zone_defaults } = dnsSettings as {
    readonly zone_defaults: { readonly nameservers: { readonly type: AccountNameservers } };
  };
  const old = oldFields(zone_defaults.nameservers.type);
  return { ...account, settings: { ...(account.settings as Fields), ...old } };
}

function oldFields(type: AccountNameservers): Fields {
  return {
    default_nameservers: type === 'provider.standard.random' ? 'provider.standard' : type,
    use_account_custom_ns_by_default: type === 'custom.account',
  };
}

/** Returns the new type of nameservers, from the older fields in the request and the current type. */
function newTypeFrom(settings: Fields, current: AccountNameservers): string {
  const { default_nameservers: name, use_account_custom_ns_by_default: custom } = settings;
  const before = oldFields(current);
  if (name !== undefined && !OLD_TYPES.includes(name)) {
    const allowed = OLD_TYPES.join(', ');
    throw invalidSetting('default_nameservers', `must be one of ${allowed}`);
  }
  if (custom !== undefined && typeof custom !== 'boolean') {
    throw invalidSetting('use_account_custom_ns_by_default', 'must be true or false');
  }
  if (name !== undefined && name !== before.default_nameservers) return String(name);
  if (custom === undefined || custom === before.use_account_custom_ns_by_default) return current;
  return custom ? 'custom.account' : 'provider.standard';
}

function invalidSetting(field: string, reason: string): Error {
  return apiError('FIELD_INVALID', `settings.${field} ${reason}.`, `/settings/${field}`);
}
