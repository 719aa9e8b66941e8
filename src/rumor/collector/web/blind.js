/** What a person is told of their invitation where an issuer signs tokens that nobody can trace. */

/** In every language of the page; only pages of such collections load this. */
export const WORDS = {
  en: "Only invited people may answer. Your invitation is shown to the issuer alone, which signs a token for every answer without seeing it. No answer goes there, and neither the issuer nor the collector can tell which report is yours.",
  ja: "招待された人だけが答えられます。招待コードは発行者にだけ示されます。発行者は、中身を見ずに回答ごとの印に署名します。回答は発行者には送られず、どのレポートがあなたのものかは、発行者にも収集者にもわかりません。",
  zh: "只有受邀的人可以作答。您的邀请码只出示给签发方，签发方在看不到内容的情况下为每个回答签署凭证。回答不会发送到那里，签发方和收集方都无法得知哪份报告是您的。",
};
