// Until 2025-03-14 the settings of an account have `default_nameservers` and
// `use_account_custom_ns_by_default` where the DNS settings have `zone_defaults.nameservers.type`.
//
// The older fields cannot say `provider.standard.random`; it is shown as `provider.standard`, and
// writing back what was shown leaves it as it is.

import { apiError } from '../call.ts';
import type { Change, ChangeContext, Fields } from './change.ts';

const OLD_TYPES: readonly unknown[] = ['provider.standard', 'custom.account', 'custom.tenant'];

export const accountNameservers: Change = {
  id: 'account-nameservers',
  async request(call, context) {
    const settings = (call.body as { settings?: unknown } | undefined)?.settings;
    if (call.method === 'GET' || typeof settings !== 'object' || settings === null) return call;
    const current = call.account && (await typeOf(call.account.id, context));
    const type = typeFrom(settings as Fields, current ?? 'provider.standard');
    if (type === undefined) return call;
    return { ...call, dnsSettings: { zone_defaults: { nameservers: { type } } } };
  },

  async response(answer, _call, context) {
    if (answer.status >= 400) return answer;
    const { result } = answer;
    if (!Array.isArray(result))
      return { ...answer, result: await shown(result as Fields, context) };
    return { ...answer, result: await Promise.all(result.map((item) => shown(item, context))) };
  },
};

async function shown(account: Fields, context: ChangeContext): Promise<Fields> {
  const type = await typeOf(String(account.id), context);
  return { ...account, settings: { ...(account.settings as Fields), ...oldFields(type) } };
}

function oldFields(type: string): Fields {
  return {
    default_nameservers: type === 'provider.standard.random' ? 'provider.standard' : type,
    use_account_custom_ns_by_default: type === 'custom.account',
  };
}

/** The type the older fields ask for; undefined when they change nothing. */
function typeFrom(settings: Fields, current: string): string | undefined {
  const { default_nameservers: name, use_account_custom_ns_by_default: custom } = settings;
  const before = oldFields(current);
  if (name !== undefined && !OLD_TYPES.includes(name)) {
    const allowed = OLD_TYPES.join(', ');
    throw invalid('default_nameservers', `must be one of ${allowed}`);
  }
  if (custom !== undefined && typeof custom !== 'boolean') {
    throw invalid('use_account_custom_ns_by_default', 'must be true or false');
  }
  if (name !== undefined && name !== before.default_nameservers) return String(name);
  if (custom === undefined || custom === before.use_account_custom_ns_by_default) return undefined;
  return custom ? 'custom.account' : 'provider.standard';
}

function invalid(field: string, reason: string): Error {
  return apiError('FIELD_INVALID', `settings.${field} ${reason}.`, `/settings/${field}`);
}

async function typeOf(accountId: string, context: ChangeContext): Promise<string> {
  const settings = (await context.read(`/accounts/${accountId}/dns_settings`)) as {
    readonly zone_defaults: { readonly nameservers: { readonly type: string } };
  };
  return settings.zone_defaults.nameservers.type;
}
