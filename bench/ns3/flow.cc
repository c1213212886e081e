// SPDX-License-Identifier: GPL-2.0
/*
 * One bulk flow through one bottleneck of 20 Mb/s in ns-3, as examples/codel.yaml has it in the lab.
 *
 * Prints the bytes that the application has received, --since a second if asked to. As in the lab the
 * segments carry 1448 bytes, the initial window is 10 segments, every second
 * segment is acknowledged, and buffers are never the limit. Any attribute of
 * ns-3 can be changed: --ns3::TcpSocket::DelAckCount=1.
 */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <fstream>
#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    double seconds = 90;
    double since = 0;
    double rttMs = 100;
    std::string cc = "Cubic";
    std::string queue = "CoDel";
    std::string limit = "1000p";
    std::string events;
    bool ecn = true;

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));

    CommandLine command(__FILE__);
    command.AddValue("seconds", "length of the experiment", seconds);
    command.AddValue("since", "what comes before is not counted, s", since);
    command.AddValue("rtt", "base round trip, ms", rttMs);
    command.AddValue("cc", "congestion control: Cubic, LinuxReno, Dctcp", cc);
    command.AddValue("queue", "CoDel, Pie, Fifo", queue);
    command.AddValue("limit", "longest queue", limit);
    command.AddValue("ecn", "whether the sender asks for it and the queue marks", ecn);
    command.AddValue("events", "file for windows (packets), thresholds and marks over time", events);
    command.Parse(argc, argv);

    std::string queueDisc = "ns3::" + queue + "QueueDisc";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::Tcp" + cc)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));
    if (queue != "Fifo")
    {
        Config::SetDefault(queueDisc + "::UseEcn", BooleanValue(ecn));
    }
    Config::SetDefault(queueDisc + "::MaxSize", StringValue(limit));

    NodeContainer nodes; // sender, two routers, receiver
    nodes.Create(4);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    Ipv4Address receiver;
    for (uint32_t hop = 0; hop < 3; ++hop)
    {
        PointToPointHelper link;
        bool bottleneck = hop == 1;
        link.SetDeviceAttribute("DataRate", StringValue(bottleneck ? "20Mbps" : "10Gbps"));
        link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(bottleneck ? 500 * rttMs : 0)));
        // What waits does so in the queue disc.
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        NetDeviceContainer ends = link.Install(nodes.Get(hop), nodes.Get(hop + 1));
        if (bottleneck)
        {
            TrafficControlHelper control;
            control.SetRootQueueDisc(queueDisc);
            control.Install(ends);
        }
        receiver = address.Assign(ends).GetAddress(1);
        address.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5001;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(nodes.Get(3));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, port));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(1448));
    bulk.Install(nodes.Get(0)).Start(Seconds(0));

    std::ofstream record;
    if (!events.empty())
    {
        record.open(events);
        auto note = [&record](const char* what, double value) {
            record << Simulator::Now().GetNanoSeconds() << "," << what << "," << value << "\n";
        };
        Simulator::Schedule(MilliSeconds(1), [note] { // the socket exists then
            const std::string socket = "/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/";
            for (auto [name, what] : {std::pair("CongestionWindow", "cwnd"),
                                      std::pair("SlowStartThreshold", "ssthresh")})
            {
                Config::ConnectWithoutContext(
                    socket + name,
                    Callback<void, uint32_t, uint32_t>([note, what](uint32_t, uint32_t bytes) {
                        note(what, bytes / 1448.0);
                    }));
            }
        });
        Config::ConnectWithoutContext(
            "/NodeList/1/$ns3::TrafficControlLayer/RootQueueDiscList/*/Mark",
            Callback<void, Ptr<const QueueDiscItem>, const char*>(
                [note](Ptr<const QueueDiscItem>, const char*) { note("mark", 1); }));
    }

    auto received = DynamicCast<PacketSink>(sinks.Get(0));
    uint64_t before = 0;
    Simulator::Schedule(Seconds(since), [&] { before = received->GetTotalRx(); });
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << received->GetTotalRx() - before << std::endl;
    Simulator::Destroy();
    return 0;
}
