// Shows and changes an account in its own object, also in its older form, an organization.

import * as v from 'valibot';
import { type AccountIdentity, type Answer, type RoutedCall, successAnswer } from '../call/call.ts';
import { validate } from '../call/validation.ts';
import { readDnsSettings, setNameservers } from './dns-settings.ts';
import type { ItemStore } from './item-store.ts';

const name = v.pipe(v.string(), v.nonEmpty(), v.maxLength(100));

/** The body that creates or replaces an account. */
export const AccountForm = v.object({
  name,
  type: v.optional(v.picklist(['standard', 'enterprise'])),
  settings: v.optional(
    v.partial(
      v.object({
        abuse_contact_email: v.nullable(v.pipe(v.string(), v.email())),
        enforce_twofactor: v.boolean(),
      }),
    ),
  ),
});

const OrganizationPatch = v.object({ name: v.optional(name) });

const INITIAL_SETTINGS = { enforce_twofactor: false, abuse_contact_email: null };

export function showAccount(store: ItemStore, call: RoutedCall): Answer {
  return answerWith(store, call.account!);
}

export function replaceAccount(store: ItemStore, call: RoutedCall): Answer {
  const form = validate(AccountForm, call.body);
  if (form.settings) {
    store.putDocument('settings', { ...settingsOf(store), ...form.settings });
  }
  if (call.nameserverTypes) setNameservers(store, call.nameserverTypes);
  const type = form.type ?? call.account!.type;
  return answerWith(store, { ...call.account!, name: form.name, type });
}

export function showOrganization(_store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(organizationOf(call.account!));
}

export function editOrganization(_store: ItemStore, call: RoutedCall): Answer {
  const patch = validate(OrganizationPatch, call.body);
  return successAnswer(
    organizationOf({ ...call.account!, name: patch.name ?? call.account!.name }),
  );
}

function answerWith(store: ItemStore, account: AccountIdentity): Answer {
  const dnsSettings = [readDnsSettings(store, 'account')];
  return { ...successAnswer(accountOf(store, account)), dnsSettings };
}

function accountOf(store: ItemStore, { id, name, type, createdOn }: AccountIdentity): object {
  return { id, name, type, settings: settingsOf(store), created_on: createdOn };
}

function organizationOf({ id, name, createdOn }: AccountIdentity): object {
  return { id, name, status: 'active', permissions: [], roles: [], created_on: createdOn };
}

function settingsOf(store: ItemStore): object {
  return store.document<object>('settings') ?? INITIAL_SETTINGS;
}
