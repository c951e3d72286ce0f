import type * as P from "../core/protocol";

function titleOf({ name, account, tokenEnds }: P.ServiceView, isBroken: boolean) {
  const as = account ? ` as ${account}` : "";
  const said = isBroken ? "Not connected." : `Connected to ${name}${as}.`;
  return `${said} ${tokenEnds}`.trim();
}

/** The service, and what is to be known of it: the end of a token, made-up data, or the account. */
export function Service({ service, off }: { service: P.ServiceView; off: boolean }) {
  const isBroken = off || service.trouble.length > 0;
  const owner = service.synthetic ? "synthetic data" : service.account;
  const aside = service.tokenEnds || owner;
  return (
    <span
      class={`jf-badge ${isBroken ? "is-off" : ""}`}
      data-jf="service"
      title={titleOf(service, isBroken)}
    >
      <i />
      <span class="jf-cut">
        {isBroken ? "not connected" : service.name}
        {!isBroken && aside && <span class="jf-wide-only"> · {aside}</span>}
      </span>
    </span>
  );
}
