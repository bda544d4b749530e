// Performs a call in the newest form of the interface: its object answers, then the further step that its route names
// follows. For example, the directory lists the accounts, and each account's own object shows it.
//
// A call that writes to two objects starts with the directory. An account's object with an empty store is already a
// valid new account, so a crash between the two writes leaves nothing incomplete.

import type { AccountIdentity, Answer, Call } from '../call/call.ts';
import type { ManagementObjects } from '../objects/objects.ts';
import type { Owner, Route } from '../routes/routes.ts';

export async function performCall(
  objects: ManagementObjects,
  route: Route,
  call: Call,
): Promise<Answer> {
  const answer = await answerOfOwner(objects, route.owner, call);
  if (answer.status >= 400) return answer;
  switch (route.nextStep) {
    case 'show accounts':
      return showAccounts(objects, call, answer);
    case 'write account': {
      const account = answer.result as AccountIdentity;
      const path = `/accounts/${account.id}`;
      return objects.account(account.id, { ...call, account, method: 'PUT', path });
    }
    case 'update account':
      await updateAccount(objects, call, answer);
      return answer;
    case 'erase zone': {
      const { id } = call.zone!;
      await objects.zone(id, { ...call, path: `/erased/${id}` });
      return answer;
    }
    default:
      return answer;
  }
}

function answerOfOwner(objects: ManagementObjects, owner: Owner, call: Call): Promise<Answer> {
  if (owner === 'directory') return objects.directory(call);
  if (owner === 'zone') return objects.zone(call.zone!.id, call);
  return objects.account(call.account!.id, call);
}

/** Replaces each account of the answer by the one that its own object shows. */
async function showAccounts(
  objects: ManagementObjects,
  call: Call,
  answer: Answer,
): Promise<Answer> {
  const asked = (answer.result as AccountIdentity[]).map((account) => {
    const path = `/accounts/${account.id}`;
    return objects.account(account.id, { ...call, account, method: 'GET', path });
  });
  const answers = await Promise.all(asked);
  const dnsSettings = answers.flatMap((one) => one.dnsSettings ?? []);
  return { ...answer, result: answers.map(({ result }) => result), dnsSettings };
}

async function updateAccount(
  objects: ManagementObjects,
  call: Call,
  { result }: Answer,
): Promise<void> {
  const { name, type } = result as { name: string; type?: string };
  const path = `/identities/account/${call.account!.id}`;
  await objects.directory({ ...call, method: 'PATCH', path, body: { name, type } });
}
